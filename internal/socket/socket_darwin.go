package socket

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// reachable is the socket's path.
func reachable(dir, name string) (path string, done func(), err error) {
	return filepath.Join(dir, name), func() {}, nil
}

// peerUID is the user at the other end of a connection.
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

// setMode changes the mode of a socket: no sandbox here has its directory.
func setMode(dir, name string, mode fs.FileMode) error {
	return os.Chmod(filepath.Join(dir, name), mode)
}
