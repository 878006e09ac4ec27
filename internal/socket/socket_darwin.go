package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// reachable returns the socket's path.
func reachable(dir, name string) (path string, done func(), err error) {
	return filepath.Join(dir, name), func() {}, nil
}

// Dial connects to a socket in a directory, if the directory's owner made the socket and listens on it. It looks at the
// name before it connects. If the socket is exchanged in between, the new file must be a socket on which the same user
// listens.
func Dial(ctx context.Context, dir, name string) (net.Conn, error) {
	path := filepath.Join(dir, name)
	above, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	is, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	owner := above.Sys().(*syscall.Stat_t).Uid
	if is.Mode().Type() != fs.ModeSocket || is.Sys().(*syscall.Stat_t).Uid != owner {
		return nil, fmt.Errorf("connect to the socket %s: there is no socket of the directory's owner, user %d", name, owner)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	peer, err := peerUID(conn)
	if err == nil && peer != int(owner) {
		err = fmt.Errorf("connect to the socket %s: a process of user %d listens there, but the directory belongs to user %d", name, peer, owner)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// peerUID returns the user at the other end of a connection.
func peerUID(conn net.Conn) (uid int, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	if ctrl := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); ctrl != nil {
		return 0, ctrl
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}

// setMode changes the mode of a socket. It may go by name, because no sandbox on this system has the socket's
// directory.
func setMode(dir, name string, mode fs.FileMode) error {
	return os.Chmod(filepath.Join(dir, name), mode)
}
