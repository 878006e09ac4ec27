package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"torno/internal/socket/connect"
)

// reachable returns a path of the socket that is short enough for the kernel, however long the directory's path is. The
// caller calls done after it has used the path.
func reachable(dir, name string) (path string, done func(), err error) {
	held, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("open the directory of a socket: %w", err)
	}
	return filepath.Join(fmt.Sprintf("/proc/self/fd/%d", held.Fd()), name), func() { held.Close() }, nil
}

// Dial connects to a socket in a directory, if the directory's owner made the socket and listens on it. We may trust
// that owner less than ourselves: for example, we are root and the owner is the model gateway's user.
func Dial(_ context.Context, dir, name string) (net.Conn, error) {
	held, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of a socket: %w", err)
	}
	defer held.Close()
	fd, err := connect.To(held, name)
	if err != nil {
		return nil, err
	}
	connected := os.NewFile(uintptr(fd), name)
	defer connected.Close()
	return net.FileConn(connected)
}

// peerUID returns the user at the other end of a connection.
func peerUID(conn net.Conn) (uid int, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if ctrl := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); ctrl != nil {
		return 0, ctrl
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// setMode changes the mode of a socket, and of nothing else: a sandbox that has the directory may be able to put a link
// there.
func setMode(dir, name string, mode fs.FileMode) error {
	fd, err := unix.Open(filepath.Join(dir, name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.New("something else is there")
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), uint32(mode.Perm()))
}
