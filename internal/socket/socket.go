// Package socket makes the unix sockets on which Torno's programs listen, and tells which user connects to them. It
// also has the common parts of the APIs on them: HTTP and JSON, and errors that keep their type on the way to the
// client.
//
//	listener, err := socket.Listen(dir, "control.sock", 0o600)
//	operators := socket.OperatorsOnly(listener)
//
// If the system lets us name a directory by its handle, as Linux does, a socket works even if its path is longer than
// the kernel accepts.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// Listen makes a socket in a directory that only we may write. It replaces an existing socket; the caller makes sure
// that no process listens on the old socket.
func Listen(dir, name string, mode fs.FileMode) (*net.UnixListener, error) {
	path, done, err := reachable(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the socket %s: %w", name, err)
	}
	ours := listener.(*net.UnixListener)
	ours.SetUnlinkOnClose(false)
	if err := setMode(dir, name, mode); err != nil {
		ours.Close()
		return nil, fmt.Errorf("set the mode of the socket %s: %w", name, err)
	}
	return ours, nil
}

// OperatorsOnly drops connections from users other than root and our own user. The file's mode already keeps them out;
// a second lock costs nothing.
func OperatorsOnly(listener net.Listener) net.Listener { return operatorsOnly{listener} }

type operatorsOnly struct{ net.Listener }

func (l operatorsOnly) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn); err == nil && (uid == 0 || uid == os.Geteuid()) {
			return conn, nil
		}
		conn.Close()
	}
}
