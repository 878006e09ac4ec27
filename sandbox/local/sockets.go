package local

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"torno/internal/engines"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
)

// EngineSockets returns own, the sockets of engines that are in use here, and the usual sockets.
func EngineSockets(own ...string) []string { return append(own, engines.Sockets()...) }

// SharedSocket describes how a sandbox gets a socket of the profile.
type SharedSocket struct {
	Source string        // the shown path: the socket, or the directory of a lasting socket
	Mount  runfile.Mount // the place where it is shown, and the inode that init must find there
}

// CheckSocket refuses a path that is not a socket, and an engine's socket: with an engine's socket a child would be
// root on the host. The engine or runtime looks the path up again when it makes the sandbox. So CheckSocket returns the
// device and inode that init must find there.
func CheckSocket(s sandbox.Socket, engines []string) (SharedSocket, error) {
	found, owner, err := checkSocket(s, engines)
	if err != nil || !s.Lasting {
		return SharedSocket{Source: s.Host, Mount: found}, err
	}
	dir := filepath.Dir(s.Host)
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return SharedSocket{}, fmt.Errorf("directory of a socket: %w", &fs.PathError{Op: "look at", Path: dir, Err: err})
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o022 != 0 {
		return SharedSocket{}, fmt.Errorf("directory of a socket: %s is not a directory that only its owner may write", dir)
	}
	if owner != st.Uid { // the socket may be a second name for another service's socket
		return SharedSocket{}, fmt.Errorf("directory of a socket: %s belongs to user %d, but %s to user %d", dir, st.Uid, s.Host, owner)
	}
	return SharedSocket{
		Source: dir, Mount: runfile.Mount{Path: SocketPlace(s), Device: uint64(st.Dev), Inode: st.Ino},
	}, nil
}

func checkSocket(s sandbox.Socket, sockets []string) (found runfile.Mount, owner uint32, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(s.Host, &st); err != nil {
		return found, 0, fmt.Errorf("socket of the profile: %w", &fs.PathError{Op: "look at", Path: s.Host, Err: err})
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return found, 0, fmt.Errorf("socket of the profile: %s is not a unix socket (links are not followed)", s.Host)
	}
	found, owner = runfile.Mount{Path: s.Target, Device: uint64(st.Dev), Inode: st.Ino, Sockets: true}, st.Uid
	for _, engine := range sockets {
		if unix.Stat(engine, &st) == nil && found.Device == uint64(st.Dev) && found.Inode == st.Ino {
			return runfile.Mount{}, 0, fmt.Errorf("socket of the profile: %s is the engine's own socket %s, which no sandbox gets", s.Host, engine)
		}
	}
	return found, owner, nil
}

// Lay moves a read-only clone of the socket or directory into a view of a slot, and returns the mount that init must
// find there.
func (s SharedSocket) Lay(slot *mounts.Slot, v View) (runfile.Mount, error) {
	if err := slot.ShowIn(v.Number, s.Source, onPrefix); err != nil {
		return runfile.Mount{}, err
	}
	laid := s.Mount
	laid.Hardened = true
	return laid, slot.Prove(v.Number, onPrefix, mounts.Placed{Dev: laid.Device, Ino: laid.Inode}) // it was found by its path
}
