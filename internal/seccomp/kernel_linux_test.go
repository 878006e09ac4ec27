package seccomp

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	for _, try := range tries() {
		_, _, errno := unix.RawSyscall6(try.number, try.args[0], try.args[1], try.args[2], try.args[3], 0, 0)
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
	args   [4]uintptr
	want   syscall.Errno // of a filtered process
	free   syscall.Errno // of one that is not
}

func tries() []try {
	dir := uintptr(unsafe.Pointer(&[]byte("/nowhere/at/all\x00")[0]))
	const none, cwd = ^uintptr(0), ^uintptr(99) // no descriptor; AT_FDCWD
	return []try{
		{"getpid", unix.SYS_GETPID, [4]uintptr{}, 0, 0},
		{"fchmodat without set-id bits", unix.SYS_FCHMODAT, [4]uintptr{cwd, dir, 0o755}, unix.ENOENT, unix.ENOENT},
		{"fchmodat 04755", unix.SYS_FCHMODAT, [4]uintptr{cwd, dir, 0o4755}, unix.EPERM, unix.ENOENT},
		{"openat that makes a set-id file", unix.SYS_OPENAT, [4]uintptr{cwd, dir, unix.O_WRONLY | unix.O_CREAT, 0o2755}, unix.EPERM, unix.ENOENT},
		{"openat", unix.SYS_OPENAT, [4]uintptr{cwd, dir, unix.O_WRONLY, 0o2755}, unix.ENOENT, unix.ENOENT},
		{"openat2", unix.SYS_OPENAT2, [4]uintptr{none, 0, 0, 0}, unix.ENOSYS, unix.EINVAL},
		{"clone3", unix.SYS_CLONE3, [4]uintptr{0, 0}, unix.ENOSYS, unix.EINVAL},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [4]uintptr{0, 0}, unix.ENOSYS, unix.EFAULT},
		{"fallocate", unix.SYS_FALLOCATE, [4]uintptr{none, 0, 0, 1}, unix.EOPNOTSUPP, unix.EBADF},
		{"fallocate that gives back", unix.SYS_FALLOCATE, [4]uintptr{none, 3, 0, 1}, unix.EBADF, unix.EBADF},
		{"socket of the unix family", unix.SYS_SOCKET, [4]uintptr{unix.AF_UNIX, 0, 0}, unix.ESOCKTNOSUPPORT, unix.ESOCKTNOSUPPORT},
		{"socket of vsock", unix.SYS_SOCKET, [4]uintptr{unix.AF_VSOCK, 0, 0}, unix.EPERM, 0},
		{"unshare", unix.SYS_UNSHARE, [4]uintptr{0}, unix.EPERM, 0},
		{"ptrace", unix.SYS_PTRACE, [4]uintptr{none, 0}, unix.EPERM, unix.ESRCH},
		{"ioctl FIOCLEX", unix.SYS_IOCTL, [4]uintptr{none, 0x5451}, unix.EBADF, unix.EBADF},
		{"ioctl FS_IOC_SETFLAGS", unix.SYS_IOCTL, [4]uintptr{none, 0x40086602}, unix.EPERM, unix.EBADF},
		{"a number of x32", 1<<30 | unix.SYS_GETPID, [4]uintptr{}, unix.EPERM, 0},
		{"a number that nobody has", 1000, [4]uintptr{}, unix.EPERM, unix.ENOSYS},
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
	for _, try := range tries() {
		fmt.Fprintf(&want, "%s: %d\n", try.name, try.want)
	}
	if said, err := child(t, filtered); err != nil || said != want.String() {
		t.Errorf("%v, it says\n%s instead of\n%s", err, said, want.String())
	}
	said, err := child(t, unfiltered)
	if err != nil {
		t.Errorf("%v, %s", err, said)
	}
	for _, try := range tries() {
		if line := fmt.Sprintf("%s: %d\n", try.name, try.want); try.free != try.want && strings.Contains(said, line) {
			t.Errorf("it is so without a filter, too: %s", line)
		}
	}
}
