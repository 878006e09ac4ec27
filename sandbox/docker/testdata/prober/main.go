// Prober tries system calls and prints what came of each as JSON: "done", or the name of the error. Its arguments are
// wrong in ways that the kernel sees only after it has decided who may call, so that "EINVAL" or "EBADF" is a yes.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const wrong = ^uintptr(0)

// probe is something to try in the directory that is ours.
type probe func(dir string) error

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	all := map[string]probe{}
	for _, probes := range []map[string]probe{calls(), sockets(), setIDs(), allowed(), legacy()} {
		maps.Copy(all, probes)
	}
	outcomes := map[string]string{}
	for name, try := range all {
		outcomes[name] = outcome(try(dir))
	}
	return json.NewEncoder(os.Stdout).Encode(outcomes)
}

func outcome(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// call is a raw system call; six arguments are enough for all.
func call(number uintptr, args ...uintptr) probe {
	return func(string) error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			return errno
		}
		return nil
	}
}

// calls are for nobody in a sandbox.
func calls() map[string]probe {
	return map[string]probe{
		"acct":                    call(unix.SYS_ACCT, 1),
		"add_key":                 call(unix.SYS_ADD_KEY),
		"bpf":                     call(unix.SYS_BPF),
		"chroot":                  call(unix.SYS_CHROOT, 1),
		"clock_settime":           call(unix.SYS_CLOCK_SETTIME, wrong),
		"clone3":                  call(unix.SYS_CLONE3),
		"fanotify_init":           call(unix.SYS_FANOTIFY_INIT, wrong),
		"fsconfig":                call(unix.SYS_FSCONFIG, wrong),
		"fsmount":                 call(unix.SYS_FSMOUNT, wrong),
		"fsopen":                  call(unix.SYS_FSOPEN),
		"fspick":                  call(unix.SYS_FSPICK, wrong),
		"init_module":             call(unix.SYS_INIT_MODULE),
		"finit_module":            call(unix.SYS_FINIT_MODULE, wrong),
		"delete_module":           call(unix.SYS_DELETE_MODULE),
		"io_uring_enter":          call(unix.SYS_IO_URING_ENTER, wrong),
		"io_uring_register":       call(unix.SYS_IO_URING_REGISTER, wrong),
		"io_uring_setup":          call(unix.SYS_IO_URING_SETUP),
		"kcmp":                    call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), wrong),
		"kexec_load":              call(unix.SYS_KEXEC_LOAD, 0, 0, 0, wrong),
		"keyctl":                  call(unix.SYS_KEYCTL, wrong),
		"mount":                   call(unix.SYS_MOUNT),
		"mount_setattr":           call(unix.SYS_MOUNT_SETATTR, wrong),
		"move_mount":              call(unix.SYS_MOVE_MOUNT, wrong, 0, wrong, 0, wrong),
		"name_to_handle_at":       call(unix.SYS_NAME_TO_HANDLE_AT, wrong),
		"open_by_handle_at":       call(unix.SYS_OPEN_BY_HANDLE_AT, wrong),
		"open_tree":               call(unix.SYS_OPEN_TREE, wrong),
		"openat2":                 call(unix.SYS_OPENAT2, wrong),
		"perf_event_open":         call(unix.SYS_PERF_EVENT_OPEN),
		"pidfd_getfd":             call(unix.SYS_PIDFD_GETFD, wrong),
		"pivot_root":              call(unix.SYS_PIVOT_ROOT),
		"process_madvise":         call(unix.SYS_PROCESS_MADVISE, wrong),
		"process_vm_readv":        call(unix.SYS_PROCESS_VM_READV, wrong),
		"process_vm_writev":       call(unix.SYS_PROCESS_VM_WRITEV, wrong),
		"ptrace":                  call(unix.SYS_PTRACE, wrong),
		"quotactl":                call(unix.SYS_QUOTACTL, wrong),
		"reboot":                  call(unix.SYS_REBOOT),
		"request_key":             call(unix.SYS_REQUEST_KEY),
		"sethostname":             call(unix.SYS_SETHOSTNAME, 0, wrong),
		"setns":                   call(unix.SYS_SETNS, wrong),
		"swapon":                  call(unix.SYS_SWAPON),
		"syslog":                  call(unix.SYS_SYSLOG, wrong),
		"umount2":                 call(unix.SYS_UMOUNT2, 1, wrong),
		"unshare nothing":         call(unix.SYS_UNSHARE, 0),
		"unshare user":            call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|1),
		"userfaultfd":             call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC),
		"clone in user namespace": call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS),
		"clone in net namespace":  call(unix.SYS_CLONE, unix.CLONE_NEWNET|unix.CLONE_THREAD),
		"clone in ipc namespace":  call(unix.SYS_CLONE, unix.CLONE_NEWIPC|unix.CLONE_SYSVSEM),
		"clone in pid namespace":  call(unix.SYS_CLONE, unix.CLONE_NEWPID|unix.CLONE_THREAD),
		"clone in mnt namespace":  call(unix.SYS_CLONE, unix.CLONE_NEWNS|unix.CLONE_FS),
		"personality that fixes addresses": func(string) error {
			return then(call(unix.SYS_PERSONALITY, 0x0040000), call(unix.SYS_PERSONALITY, 0))
		},
	}
}

// then undoes what a probe did.
func then(try, undo probe) error {
	err := try("")
	if err == nil {
		err = undo("")
	}
	return err
}

// sockets of families that have no place in a sandbox.
func sockets() map[string]probe {
	probes := map[string]probe{
		"netlink audit":          socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
		"netlink uevent":         socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		"netlink generic":        socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC),
		"family with high bits":  highFamily,
		"multipath tcp":          socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP),
		"udp lite":               socket(unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE),
		"socketpair of internet": call(unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM, 0, 1),
	}
	for name, family := range map[string]int{
		"alg": unix.AF_ALG, "bluetooth": unix.AF_BLUETOOTH, "can": unix.AF_CAN, "key": unix.AF_KEY, "packet": unix.AF_PACKET,
		"rds": unix.AF_RDS, "tipc": unix.AF_TIPC, "vsock": unix.AF_VSOCK, "xdp": unix.AF_XDP, "x25": unix.AF_X25,
	} {
		probes["family "+name] = socket(family, unix.SOCK_RAW, 0)
	}
	return probes
}

func socket(family, kind, protocol int) probe {
	return func(string) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
}

// highFamily asks for a unix socket with bits that the kernel throws away, as somebody would who wants to get past a filter.
func highFamily(string) error {
	fd, _, errno := syscall.RawSyscall(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// setIDs are the ways to a file that runs with its owner's rights.
func setIDs() map[string]probe {
	probes := map[string]probe{}
	for name, mode := range map[string]uint32{"setuid": unix.S_ISUID, "setgid": unix.S_ISGID, "both": unix.S_ISUID | unix.S_ISGID} {
		for way, make := range ways {
			probes[way+" "+name] = func(dir string) error {
				file := dir + "/made"
				defer os.Remove(file)
				return make(file, 0o755|mode)
			}
		}
	}
	return probes
}

var ways = map[string]func(file string, mode uint32) error{
	"chmod": func(file string, mode uint32) error {
		return afterwards(file, func(int) error { return unix.Fchmodat(unix.AT_FDCWD, file, mode, 0) })
	},
	"fchmod": func(file string, mode uint32) error {
		return afterwards(file, func(fd int) error { return unix.Fchmod(fd, mode) })
	},
	"fchmodat2": func(file string, mode uint32) error {
		return afterwards(file, func(int) error { return unix.Fchmodat(unix.AT_FDCWD, file, mode, unix.AT_SYMLINK_NOFOLLOW) })
	},
	"openat": func(file string, mode uint32) error {
		return opened(unix.Openat(unix.AT_FDCWD, file, unix.O_CREAT|unix.O_WRONLY, mode))
	},
	"openat tmpfile": func(file string, mode uint32) error {
		return opened(unix.Openat(unix.AT_FDCWD, file[:len(file)-len("/made")], unix.O_TMPFILE|unix.O_WRONLY, mode))
	},
	"openat2": func(file string, mode uint32) error {
		return opened(unix.Openat2(unix.AT_FDCWD, file, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)}))
	},
	"mknodat": func(file string, mode uint32) error {
		return unix.Mknodat(unix.AT_FDCWD, file, unix.S_IFREG|mode, 0)
	},
}

// afterwards makes an ordinary file and changes it.
func afterwards(file string, change func(fd int) error) error {
	fd, err := unix.Openat(unix.AT_FDCWD, file, unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("an ordinary file cannot be made: %v", err)
	}
	defer unix.Close(fd)
	return change(fd)
}

func opened(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// allowed is what must work, so that the filter is no wall for honest programs. Their names say so.
func allowed() map[string]probe {
	probes := map[string]probe{
		"allowed: unix socket":        socket(unix.AF_UNIX, unix.SOCK_STREAM, 0),
		"allowed: internet socket":    socket(unix.AF_INET, unix.SOCK_STREAM, 0),
		"allowed: tcp by name":        socket(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP),
		"allowed: udp by name":        socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP),
		"allowed: internet 6 socket":  socket(unix.AF_INET6, unix.SOCK_DGRAM, 0),
		"allowed: netlink route":      socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
		"allowed: asking personality": call(unix.SYS_PERSONALITY, 0xFFFFFFFF),
		"allowed: memfd":              func(string) error { return opened(unix.MemfdCreate("x", 0)) },
		"allowed: landlock":           call(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1),
		"allowed: reading a directory": func(dir string) error {
			return opened(unix.Openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0o6000)) // a mode that does not count
		},
	}
	for way, make := range ways {
		if way == "openat2" {
			continue
		}
		probes["allowed: "+way] = func(dir string) error {
			file := dir + "/made"
			defer os.Remove(file)
			return make(file, 0o1755)
		}
	}
	return probes
}
