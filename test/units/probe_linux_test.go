package units

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is a call that a wall may stop, and with what a service of systemd 252 was stopped that has all the walls.
type attempt struct {
	name    string
	try     func(dir string) error
	stopped error
}

// errKilled says that a program of another time was killed for its first system call.
var errKilled = errors.New("signal: bad system call")

var attempts = []attempt{
	{"a unix socket", openSocket(unix.AF_UNIX), nil},
	{"a socket of the internet", openSocket(unix.AF_INET), unix.EAFNOSUPPORT},
	{"a socket of the new internet", openSocket(unix.AF_INET6), unix.EAFNOSUPPORT},
	{"a netlink socket", openSocket(unix.AF_NETLINK), unix.EAFNOSUPPORT},
	{"a packet socket", openSocket(unix.AF_PACKET), unix.EAFNOSUPPORT},
	{"a socket to virtual machines", openSocket(unix.AF_VSOCK), unix.EAFNOSUPPORT},
	{"batch scheduling", schedule(unix.SCHED_BATCH, 0), nil},
	{"realtime scheduling", schedule(unix.SCHED_FIFO, 1), unix.EPERM},
	{"realtime scheduling, not for children", schedule(unix.SCHED_FIFO|0x40000000, 1), unix.EPERM},
	{"the present personality", personality(0), nil},
	{"asking for the personality", personality(0xffffffff), unix.EPERM},
	{"the personality of another machine", personality(8), unix.EPERM},
	{"a personality without random addresses", personality(0x40000), unix.EPERM},
	{"chmod without bits", func(dir string) error { return unix.Chmod(dir, 0o755) }, nil},
	{"chmod set-user-id", func(dir string) error { return unix.Chmod(dir, 0o4755) }, unix.EPERM},
	{"chmod set-group-id", func(dir string) error { return unix.Chmod(dir, 0o2755) }, unix.EPERM},
	{"fchmodat set-user-id", func(dir string) error { return unix.Fchmodat(unix.AT_FDCWD, dir, 0o4755, 0) }, unix.EPERM},
	{"fchmod set-user-id", func(dir string) error { return opened(unix.Open(dir, unix.O_RDONLY, 0))(0o4755) }, unix.EPERM},
	{"mkdir set-group-id", func(dir string) error { return unix.Mkdir(dir+"/mkdir", 0o2755) }, unix.EPERM},
	{"mkdirat set-group-id", func(dir string) error { return unix.Mkdirat(unix.AT_FDCWD, dir+"/mkdirat", 0o2755) }, unix.EPERM},
	{"mknod set-user-id", func(dir string) error { return unix.Mknod(dir+"/mknod", unix.S_IFREG|0o4755, 0) }, unix.EPERM},
	{"open that makes set-user-id", func(dir string) error { return making(dir+"/open", unix.O_CREAT|unix.O_WRONLY, 0o4755) }, unix.EPERM},
	{"open that makes without bits", func(dir string) error { return making(dir+"/plain", unix.O_CREAT|unix.O_WRONLY, 0o755) }, nil},
	{"open that makes nothing", func(dir string) error { return making(dir, unix.O_RDONLY, 0o4755) }, nil},
	{"openat2", func(dir string) error {
		return closed(unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_RDONLY}))
	}, unix.ENOSYS},
	{"an older system call", func(dir string) error { return runOlder(dir + "/older") }, errKilled},
}

func openSocket(family int) func(string) error {
	return func(string) error { return closed(unix.Socket(family, unix.SOCK_DGRAM, 0)) }
}

func closed(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func making(path string, flags int, mode uint32) error {
	return closed(unix.Openat(unix.AT_FDCWD, path, flags, mode))
}

func opened(fd int, err error) func(mode uint32) error {
	return func(mode uint32) error {
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Fchmod(fd, mode)
	}
}

// schedule has the calling thread scheduled otherwise, and as before.
func schedule(policy int, priority int32) func(string) error {
	return func(string) error {
		_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, uintptr(policy), uintptr(unsafe.Pointer(&priority)))
		return failed(errno)
	}
}

func personality(which uintptr) func(string) error {
	return func(string) error {
		_, _, errno := unix.Syscall(unix.SYS_PERSONALITY, which, 0, 0)
		return failed(errno)
	}
}

func failed(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// probe makes all attempts and says what came of each.
func probe() int {
	dir, err := os.MkdirTemp("", "torno-probe-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	said := map[string]string{}
	for i, a := range attempts {
		at := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(at, 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		said[a.name] = "done"
		if err := a.try(at); err != nil {
			said[a.name] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		return 1
	}
	return 0
}
