package inside

import (
	"os"

	"golang.org/x/sys/unix"
)

// namespaceProbes are the ways to another view of the machine.
func namespaceProbes() []probe {
	all := []probe{
		{"C5", "unshare nothing", call(unix.SYS_UNSHARE, 0)},
		{"C5", "setns", call(unix.SYS_SETNS, wrong)},
		{"C5", "clone3", call(unix.SYS_CLONE3)},
		{"C5", "clone in a user namespace", call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS)},
		{"C5", "clone in a net namespace", call(unix.SYS_CLONE, unix.CLONE_NEWNET|unix.CLONE_THREAD)},
		{"C5", "clone in an ipc namespace", call(unix.SYS_CLONE, unix.CLONE_NEWIPC|unix.CLONE_SYSVSEM)},
		{"C5", "clone in a pid namespace", call(unix.SYS_CLONE, unix.CLONE_NEWPID|unix.CLONE_THREAD)},
		{"C5", "clone in a mnt namespace", call(unix.SYS_CLONE, unix.CLONE_NEWNS|unix.CLONE_FS)},
		{"C5", "a process in a user namespace", inUserNamespace},
		{"C8", "mount", call(unix.SYS_MOUNT)},
		{"C8", "umount2", call(unix.SYS_UMOUNT2, 1, wrong)},
		{"C8", "pivot_root", call(unix.SYS_PIVOT_ROOT)},
		{"C8", "chroot", call(unix.SYS_CHROOT, 1)},
		{"C8", "mount_setattr", call(unix.SYS_MOUNT_SETATTR, wrong)},
		{"C8", "move_mount", call(unix.SYS_MOVE_MOUNT, wrong, 0, wrong, 0, wrong)},
		{"C8", "open_tree", call(unix.SYS_OPEN_TREE, wrong)},
		{"C8", "fsopen", call(unix.SYS_FSOPEN)},
		{"C8", "fsconfig", call(unix.SYS_FSCONFIG, wrong)},
		{"C8", "fsmount", call(unix.SYS_FSMOUNT, wrong)},
		{"C8", "fspick", call(unix.SYS_FSPICK, wrong)},
	}
	for name, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "mnt": unix.CLONE_NEWNS, "net": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		all = append(all, probe{"C5", "unshare " + name, call(unix.SYS_UNSHARE, flag|1)}) // 1 is no flag
	}
	return all
}

// kernelProbes are calls for which no program in a sandbox has a use.
func kernelProbes() []probe {
	pid := uintptr(os.Getpid())
	return []probe{
		{"C7", "init_module", call(unix.SYS_INIT_MODULE)},
		{"C7", "finit_module", call(unix.SYS_FINIT_MODULE, wrong)},
		{"C7", "delete_module", call(unix.SYS_DELETE_MODULE)},
		{"C7", "kexec_load", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, wrong)},
		{"C7", "reboot", call(unix.SYS_REBOOT)},
		{"C9", "add_key", call(unix.SYS_ADD_KEY)},
		{"C9", "request_key", call(unix.SYS_REQUEST_KEY)},
		{"C9", "keyctl", call(unix.SYS_KEYCTL, wrong)},
		{"C9", "the session's keyring", call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, wrong-2)},
		{"C9", "the list of keys", reads("/proc/key-users")},
		{"C10", "ptrace", call(unix.SYS_PTRACE, wrong)},
		{"C10", "process_vm_readv", call(unix.SYS_PROCESS_VM_READV, wrong)},
		{"C10", "process_vm_writev", call(unix.SYS_PROCESS_VM_WRITEV, wrong)},
		{"C10", "process_madvise", call(unix.SYS_PROCESS_MADVISE, wrong)},
		{"C10", "pidfd_getfd", call(unix.SYS_PIDFD_GETFD, wrong)},
		{"C10", "kcmp", call(unix.SYS_KCMP, pid, pid, wrong)},
		{"C11", "bpf", call(unix.SYS_BPF)},
		{"C11", "perf_event_open", call(unix.SYS_PERF_EVENT_OPEN)},
		{"C11", "userfaultfd", userfault},
		{"C11", "io_uring_setup", call(unix.SYS_IO_URING_SETUP)},
		{"C11", "io_uring_enter", call(unix.SYS_IO_URING_ENTER, wrong)},
		{"C11", "io_uring_register", call(unix.SYS_IO_URING_REGISTER, wrong)},
		{"C11", "fanotify_init", call(unix.SYS_FANOTIFY_INIT, wrong)},
		{"C19", "name_to_handle_at", call(unix.SYS_NAME_TO_HANDLE_AT, wrong)},
		{"C19", "open_by_handle_at", call(unix.SYS_OPEN_BY_HANDLE_AT, wrong)},
		{"C23", "openat2", call(unix.SYS_OPENAT2, wrong)},
		{"C25", "acct", call(unix.SYS_ACCT, 1)},
		{"C25", "clock_settime", call(unix.SYS_CLOCK_SETTIME, wrong)},
		{"C25", "settimeofday", call(unix.SYS_SETTIMEOFDAY, 1)},
		{"C25", "adjtimex", call(unix.SYS_ADJTIMEX)},
		{"C25", "sethostname", call(unix.SYS_SETHOSTNAME, 0, wrong)},
		{"C25", "setdomainname", call(unix.SYS_SETDOMAINNAME, 0, wrong)},
		{"C25", "swapon", call(unix.SYS_SWAPON)},
		{"C25", "swapoff", call(unix.SYS_SWAPOFF)},
		{"C25", "quotactl", call(unix.SYS_QUOTACTL, wrong)},
		{"C25", "syslog", call(unix.SYS_SYSLOG, wrong)},
		{"C25", "read the system's log", call(unix.SYS_SYSLOG, 3)},
		{"C25", "vhangup", call(unix.SYS_VHANGUP)},
		{"C25", "a personality that fixes addresses", personality(0x0040000)},
		{"C25", "a personality that makes what is read executable", personality(0x0400000)},
	}
}

func userfault(*Ground) error {
	fd, _, errno := unix.RawSyscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// personality sets one and goes back.
func personality(flags uintptr) func(*Ground) error {
	return func(g *Ground) error {
		if err := call(unix.SYS_PERSONALITY, flags)(g); err != nil {
			return err
		}
		return call(unix.SYS_PERSONALITY, 0)(g)
	}
}
