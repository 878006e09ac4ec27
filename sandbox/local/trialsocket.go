package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// trialSocket is the name of a socket in a trial's workspace. The host listens on it, and the sandbox should not reach
// it.
const trialSocket = "socket"

// listener is the host's end of trialSocket.
type listener struct {
	*net.UnixListener
	dir *os.File
}

// listen makes the socket, opens it to every user, and makes sure that it works. A socket's path must be short, so
// listen reaches it through the directory's handle.
func (t Trial) listen() (_ listener, err error) {
	dir, err := os.Open(t.Dir)
	if err != nil {
		return listener{}, err
	}
	name := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), trialSocket)
	l := listener{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if err := os.Remove(filepath.Join(t.Dir, trialSocket)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	at := &net.UnixAddr{Name: name, Net: "unix"}
	if l.UnixListener, err = net.ListenUnix("unix", at); err != nil {
		return l, err
	}
	if err := os.Chmod(name, 0o777); err != nil {
		return l, err
	}
	own, err := net.DialUnix("unix", nil, at)
	if err != nil {
		return l, err
	}
	own.Close()
	if !l.reached() {
		return l, errors.New("a connection to it does not arrive")
	}
	return l, nil
}

// reached reports whether anybody connected. It need not wait: a connection is visible at once, however late this
// process looks. If reached cannot look, it assumes that there was a connection.
func (l listener) reached() bool {
	raw, err := l.SyscallConn()
	if err != nil {
		return true
	}
	waiting := 0
	if failed := raw.Control(func(fd uintptr) {
		waiting, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor is small
	}); failed != nil || err != nil {
		return true
	}
	if waiting == 0 {
		return false
	}
	conn, err := l.Accept()
	if err == nil {
		conn.Close()
	}
	return true
}

// Close removes the socket.
func (l listener) Close() error {
	var err error
	if l.UnixListener != nil {
		err = l.UnixListener.Close()
	}
	return errors.Join(err, l.dir.Close())
}
