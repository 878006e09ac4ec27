package seccomp

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The test binary is a filtered process, or one that does the same without a filter, when it finds one of these there.
const (
	childVariable = "TORNO_TEST_SECCOMP"
	filtered      = "filtered"
	unfiltered    = "unfiltered"
	oldEntry      = "by the 32-bit entry, " // and one of those
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		beChild(what)
	}
	os.Exit(m.Run())
}

// beChild makes calls, and says what each answered.
func beChild(what string) {
	runtime.LockOSThread()
	if strings.HasSuffix(what, unfiltered) {
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	} else if err := install(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if strings.HasPrefix(what, oldEntry) {
		askInTheOldWay()
		fmt.Println("came back")
		os.Exit(0)
	}
	for _, try := range slices.Concat(tries(), selected()) {
		_, _, errno := unix.RawSyscall6(try.number, try.args[0], try.args[1], try.args[2], try.args[3], try.args[4], 0)
		fmt.Printf("%s: %d\n", try.name, errno)
	}
	os.Exit(0)
}

func install() error {
	bytes, err := Filter{Arch: runtime.GOARCH}.Program()
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(bytes)/8)
	if _, err := binary.Decode(bytes, binary.LittleEndian, program); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})))
	if errno != 0 {
		return errno
	}
	return nil
}

// try is a call that is harmless where it is not refused.
type try struct {
	name   string
	number uintptr
	args   [5]uintptr
	want   syscall.Errno // of a filtered process
	free   syscall.Errno // of one that is not
}

func tries() []try {
	dir := uintptr(unsafe.Pointer(&[]byte("/nowhere/at/all\x00")[0]))
	const none, cwd = ^uintptr(0), ^uintptr(99) // no descriptor; AT_FDCWD
	return []try{
		{"getpid", unix.SYS_GETPID, [5]uintptr{}, 0, 0},
		{"fchmodat without set-id bits", unix.SYS_FCHMODAT, [5]uintptr{cwd, dir, 0o755}, unix.ENOENT, unix.ENOENT},
		{"fchmodat 04755", unix.SYS_FCHMODAT, [5]uintptr{cwd, dir, 0o4755}, unix.EPERM, unix.ENOENT},
		{"openat that makes a set-id file", unix.SYS_OPENAT, [5]uintptr{cwd, dir, unix.O_WRONLY | unix.O_CREAT, 0o2755}, unix.EPERM, unix.ENOENT},
		{"openat", unix.SYS_OPENAT, [5]uintptr{cwd, dir, unix.O_WRONLY, 0o2755}, unix.ENOENT, unix.ENOENT},
		{"openat2", unix.SYS_OPENAT2, [5]uintptr{none, 0, 0, 0}, unix.ENOSYS, unix.EINVAL},
		{"clone3", unix.SYS_CLONE3, [5]uintptr{0, 0}, unix.ENOSYS, unix.EINVAL},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [5]uintptr{0, 0}, unix.ENOSYS, unix.EFAULT},
		{"fallocate", unix.SYS_FALLOCATE, [5]uintptr{none, 0, 0, 1}, unix.EOPNOTSUPP, unix.EBADF},
		{"fallocate that gives back", unix.SYS_FALLOCATE, [5]uintptr{none, 3, 0, 1}, unix.EBADF, unix.EBADF},
		{"socketpair of the unix family", unix.SYS_SOCKETPAIR, [5]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0, 1}, unix.EFAULT, unix.EFAULT},
		{"socket without a type", unix.SYS_SOCKET, [5]uintptr{unix.AF_UNIX, 0, 0}, unix.EPERM, unix.ESOCKTNOSUPPORT},
		{"socket of vsock", unix.SYS_SOCKET, [5]uintptr{unix.AF_VSOCK, 0, 0}, unix.EPERM, 0},
		{"unshare", unix.SYS_UNSHARE, [5]uintptr{0}, unix.EPERM, 0},
		{"ptrace", unix.SYS_PTRACE, [5]uintptr{none, 0}, unix.EPERM, unix.ESRCH},
		{"ioctl FIOCLEX", unix.SYS_IOCTL, [5]uintptr{none, 0x5451}, unix.EBADF, unix.EBADF},
		{"ioctl FS_IOC_SETFLAGS", unix.SYS_IOCTL, [5]uintptr{none, 0x40086602}, unix.EPERM, unix.EBADF},
		{"a number of x32", 1<<30 | unix.SYS_GETPID, [5]uintptr{}, unix.EPERM, 0},
		{"a number that nobody has", 1000, [5]uintptr{}, unix.EPERM, unix.ENOSYS},
	}
}

// selected are calls of which an argument selects other code of the kernel than programs need.
func selected() []try {
	dir := uintptr(unsafe.Pointer(&[]byte("/nowhere/at/all\x00")[0]))
	const none, cwd, nobody = ^uintptr(0), ^uintptr(99), 0x7FFFFFFF // no descriptor; AT_FDCWD; no process
	const inet, bad = unix.AF_INET, 1                               // an address that nothing can be read from
	return []try{
		{"a terminal's settings", unix.SYS_IOCTL, [5]uintptr{none, unix.TCGETS}, unix.EBADF, unix.EBADF},
		{"a line discipline", unix.SYS_IOCTL, [5]uintptr{none, unix.TIOCSETD}, unix.EPERM, unix.EBADF},
		{"typing into a terminal", unix.SYS_IOCTL, [5]uintptr{none, unix.TIOCSTI}, unix.EPERM, unix.EBADF},
		{"a bridge", unix.SYS_IOCTL, [5]uintptr{none, unix.SIOCBRADDBR}, unix.EPERM, unix.EBADF},
		{"a VLAN", unix.SYS_IOCTL, [5]uintptr{none, unix.SIOCGIFVLAN}, unix.EPERM, unix.EBADF},
		{"the internet's SOCK_SEQPACKET", unix.SYS_SOCKET, [5]uintptr{inet, unix.SOCK_SEQPACKET}, unix.EPERM, unix.ESOCKTNOSUPPORT},
		{"SOCK_DCCP", unix.SYS_SOCKET, [5]uintptr{inet, unix.SOCK_DCCP}, unix.EPERM, unix.ESOCKTNOSUPPORT},
		{"SOCK_PACKET", unix.SYS_SOCKET, [5]uintptr{inet, unix.SOCK_PACKET}, unix.EPERM, 0},
		{"a filter of a socket's", unix.SYS_SETSOCKOPT, [5]uintptr{none, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, unix.EPERM, unix.EBADF},
		{"a protocol over TCP", unix.SYS_SETSOCKOPT, [5]uintptr{none, unix.IPPROTO_TCP, unix.TCP_ULP}, unix.EPERM, unix.EBADF},
		{"a protocol within UDP", unix.SYS_SETSOCKOPT, [5]uintptr{none, unix.IPPROTO_UDP, unix.UDP_ENCAP}, unix.EPERM, unix.EBADF},
		{"TCP_NODELAY", unix.SYS_SETSOCKOPT, [5]uintptr{none, unix.IPPROTO_TCP, unix.TCP_NODELAY}, unix.EBADF, unix.EBADF},
		{"a byte out of band", unix.SYS_SENDTO, [5]uintptr{none, 0, 0, unix.MSG_OOB}, unix.EPERM, unix.EBADF},
		{"bytes", unix.SYS_SENDTO, [5]uintptr{none, 0, 0, unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT}, unix.EBADF, unix.EBADF},
		{"an attribute", unix.SYS_SETXATTR, [5]uintptr{dir, dir, dir, 1}, unix.EOPNOTSUPP, unix.ENOENT},
		{"an attribute less", unix.SYS_REMOVEXATTR, [5]uintptr{dir, dir}, unix.EOPNOTSUPP, unix.ENOENT},
		{"a rename that leaves a device", unix.SYS_RENAMEAT2, [5]uintptr{cwd, dir, cwd, dir, unix.RENAME_WHITEOUT}, unix.EPERM, unix.ENOENT},
		{"a rename that replaces nothing", unix.SYS_RENAMEAT2, [5]uintptr{cwd, dir, cwd, dir, unix.RENAME_NOREPLACE}, unix.ENOENT, unix.ENOENT},
		{"a lease", unix.SYS_FCNTL, [5]uintptr{none, unix.F_SETLEASE}, unix.EPERM, unix.EBADF},
		{"a signal of one's choice", unix.SYS_FCNTL, [5]uintptr{none, unix.F_SETSIG, uintptr(unix.SIGSEGV)}, unix.EPERM, unix.EBADF},
		{"memory that others share", unix.SYS_MADVISE, [5]uintptr{0, 0, unix.MADV_MERGEABLE}, unix.EPERM, 0},
		{"huge pages", unix.SYS_MMAP, [5]uintptr{0, 4096, 0, unix.MAP_HUGETLB}, unix.EPERM, unix.EINVAL},
		{"huge pages of SHM_HUGETLB", unix.SYS_SHMGET, [5]uintptr{unix.IPC_PRIVATE, 0, 0o4000}, unix.EPERM, unix.EINVAL},
		{"huge pages of MFD_HUGETLB", unix.SYS_MEMFD_CREATE, [5]uintptr{bad, unix.MFD_HUGETLB}, unix.EPERM, unix.EFAULT},
		{"sharing a core", unix.SYS_PRCTL, [5]uintptr{unix.PR_SCHED_CORE, 99}, unix.EPERM, unix.EINVAL},
		{"another description of one's memory", unix.SYS_PRCTL, [5]uintptr{unix.PR_SET_MM, unix.PR_SET_MM_MAP_SIZE, bad}, unix.EPERM, unix.EFAULT},
		{"FUTEX_CMP_REQUEUE_PI", unix.SYS_FUTEX, [5]uintptr{bad, 12}, unix.EPERM, unix.EINVAL},
		{"the limits of another", unix.SYS_PRLIMIT64, [5]uintptr{nobody, unix.RLIMIT_CPU, bad}, unix.EPERM, unix.EFAULT},
		{"reading the limits of another", unix.SYS_PRLIMIT64, [5]uintptr{nobody, unix.RLIMIT_CPU}, unix.ESRCH, unix.ESRCH},
		{"one's own limits", unix.SYS_PRLIMIT64, [5]uintptr{0, unix.RLIMIT_CPU, bad}, unix.EFAULT, unix.EFAULT},
		{"the priority of another", unix.SYS_SETPRIORITY, [5]uintptr{unix.PRIO_PROCESS, nobody}, unix.EPERM, unix.ESRCH},
		{"the priority of all of a user", unix.SYS_SETPRIORITY, [5]uintptr{unix.PRIO_USER, nobody}, unix.EPERM, unix.ESRCH},
		{"one's own priority", unix.SYS_SETPRIORITY, [5]uintptr{unix.PRIO_PROCESS, 0}, 0, 0},
		{"the disk's share of another", unix.SYS_IOPRIO_SET, [5]uintptr{1, nobody}, unix.EPERM, unix.ESRCH},
		{"the policy of another", unix.SYS_SCHED_SETSCHEDULER, [5]uintptr{nobody, 5, bad}, unix.EPERM, unix.EFAULT},
		{"the parameters of another", unix.SYS_SCHED_SETPARAM, [5]uintptr{nobody, bad}, unix.EPERM, unix.EFAULT},
		{"a policy in memory", unix.SYS_SCHED_SETATTR, [5]uintptr{0, bad}, unix.ENOSYS, unix.EFAULT},
	}
}

func child(t *testing.T, what string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestOnThisKernel installs the program as init does, and asks this machine's kernel. Without it most answers are others.
func TestOnThisKernel(t *testing.T) {
	var want strings.Builder
	for _, try := range slices.Concat(tries(), selected()) {
		fmt.Fprintf(&want, "%s: %d\n", try.name, try.want)
	}
	if said, err := child(t, filtered); err != nil || said != want.String() {
		t.Errorf("%v, it says\n%s instead of\n%s", err, said, want.String())
	}
	said, err := child(t, unfiltered)
	if err != nil {
		t.Errorf("%v, %s", err, said)
	}
	for _, try := range slices.Concat(tries(), selected()) {
		if line := fmt.Sprintf("%s: %d\n", try.name, try.want); try.free != try.want && strings.Contains(said, line) {
			t.Errorf("it is so without a filter, too: %s", line)
		}
	}
}
