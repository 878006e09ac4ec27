package local

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"torno/internal/engines"
	"torno/internal/runfile"
	"torno/sandbox"
)

// EngineSockets returns the sockets of engines that are in use here, and the usual ones.
func EngineSockets(own ...string) []string { return append(own, engines.Sockets()...) }

// CheckSocket refuses a path that is not a socket, and an engine's socket: with it a child would be root on the host. The
// engine or runtime looks the path up again when it makes the sandbox, so CheckSocket returns what init must find there.
func CheckSocket(s sandbox.Socket, sockets []string) (runfile.Mount, error) {
	var st unix.Stat_t
	if err := unix.Lstat(s.Host, &st); err != nil {
		return runfile.Mount{}, fmt.Errorf("socket of the profile: %w", &fs.PathError{Op: "look at", Path: s.Host, Err: err})
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return runfile.Mount{}, fmt.Errorf("socket of the profile: %s is not a unix socket (links are not followed)", s.Host)
	}
	found := runfile.Mount{Path: s.Target, Device: uint64(st.Dev), Inode: st.Ino}
	for _, engine := range sockets {
		if unix.Stat(engine, &st) == nil && found.Device == uint64(st.Dev) && found.Inode == st.Ino {
			return runfile.Mount{}, fmt.Errorf("socket of the profile: %s is the engine's own socket %s, which no sandbox gets", s.Host, engine)
		}
	}
	return found, nil
}
