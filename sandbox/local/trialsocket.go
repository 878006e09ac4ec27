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

// trialSocket is the name of a socket in a trial's workspace. The sandbox is to be kept from it, and it is the host's.
const trialSocket = "socket"

// listener is that socket.
type listener struct {
	*net.UnixListener
	dir *os.File
}

// listen makes the socket, which everybody may use, and sees that it can be used. A socket's name must be short, so it is found by way of
// the directory's handle.
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

// reached says whether there was a connection. It does not wait for one: what connects is there at once, however late this process gets to
// look. Where that cannot be seen, there was one.
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
