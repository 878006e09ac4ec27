package inside

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var setIDModes = map[string]uint32{"setuid": unix.S_ISUID, "setgid": unix.S_ISGID, "both": unix.S_ISUID | unix.S_ISGID}

// setIDProbes are the ways to a file that runs with its owner's rights.
func setIDProbes() (all []probe) {
	for name, mode := range setIDModes {
		for way, make := range ways {
			all = append(all, probe{"C23", way + " " + name, modeBy(make, 0o755|mode)})
		}
	}
	return all
}

// modeBy makes a file in one way.
func modeBy(make func(file string, mode uint32) error, mode uint32) func(*Ground) error {
	return func(g *Ground) error {
		file := filepath.Join(g.Dir, "made")
		defer os.Remove(file)
		return make(file, mode)
	}
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
		return closed(unix.Openat(unix.AT_FDCWD, file, unix.O_CREAT|unix.O_WRONLY, mode))
	},
	"openat tmpfile": func(file string, mode uint32) error {
		return closed(unix.Openat(unix.AT_FDCWD, filepath.Dir(file), unix.O_TMPFILE|unix.O_WRONLY, mode))
	},
	"openat2": func(file string, mode uint32) error {
		return closed(unix.Openat2(unix.AT_FDCWD, file, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)}))
	},
	"mknodat": func(file string, mode uint32) error {
		return unix.Mknodat(unix.AT_FDCWD, file, unix.S_IFREG|mode, 0)
	},
}

// afterwards makes an ordinary file and changes it.
func afterwards(file string, change func(fd int) error) error {
	fd, err := unix.Openat(unix.AT_FDCWD, file, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("an ordinary file cannot be made: %w", err)
	}
	defer unix.Close(fd)
	return change(fd)
}

// allowedProbes must work: the wall must not stop honest programs.
func allowedProbes() []probe {
	all := []probe{
		{"C2", Allowed + "unix socket", socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)},
		{"C2", Allowed + "internet socket", socket(unix.AF_INET, unix.SOCK_STREAM, 0)},
		{"C2", Allowed + "tcp by name", socket(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP)},
		{"C2", Allowed + "udp by name", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP)},
		{"C2", Allowed + "internet 6 socket", socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)},
		{"C2", Allowed + "netlink route", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
		{"C1", Allowed + "talking to oneself", talkToSelf},
		{"C25", Allowed + "asking for the personality", call(unix.SYS_PERSONALITY, 0xFFFFFFFF)},
		{"C11", Allowed + "memfd", func(*Ground) error { return closed(unix.MemfdCreate("x", 0)) }},
		{"C11", Allowed + "landlock", optional(call(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1))},
		{"C23", Allowed + "reading a directory", func(g *Ground) error {
			return closed(unix.Openat(unix.AT_FDCWD, g.Dir, unix.O_RDONLY|unix.O_DIRECTORY, 0o6000)) // a mode that does not count
		}},
		{"C12", Allowed + "a FIFO", makeNode(unix.S_IFIFO, 0)},
		{"C12", Allowed + "a socket's node", makeNode(unix.S_IFSOCK, 0)},
		{"C2", Allowed + "unix datagrams and packets", func(*Ground) error {
			return errors.Join(closed(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)), closed(unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)))
		}},
		{"C21", Allowed + "one's own limits and priority", ownShare},
		{"C24", Allowed + "asking for flags", onFile(func(fd int) error {
			_, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
			return err
		})},
		{"C26", Allowed + "a terminal of one's own", func(*Ground) error { return onTerminal(func(uintptr) error { return nil }) }},
	}
	for way, make := range ways {
		if way != "openat2" {
			all = append(all, probe{"C23", Allowed + way, modeBy(make, 0o1755)})
		}
	}
	return all
}

// talkToSelf connects to a listener of its own.
func talkToSelf(*Ground) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return errors.Join(dial("tcp", listener.Addr().String()), listener.Close())
}
