package socket

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// reachable is a path of the socket that is short enough for the kernel, whatever the directory's length. done
// must be called after it was used.
func reachable(dir, name string) (path string, done func(), err error) {
	held, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("open the directory of a socket: %w", err)
	}
	return filepath.Join(fmt.Sprintf("/proc/self/fd/%d", held.Fd()), name), func() { held.Close() }, nil
}

// peerUID is the user at the other end of a connection.
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
