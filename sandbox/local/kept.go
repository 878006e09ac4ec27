package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"torno/internal/engines"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox"
)

// EngineSockets are the ones that are in use here and the usual ones.
func EngineSockets(own ...string) []string { return append(own, engines.Sockets()...) }

// Keep keeps from every sandbox what would be the host to it: our own state and the engines' sockets, however many
// names they have (B8).
func Keep(bases *mounts.Bases, stateDir string, sockets []string) error {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	places := []mounts.Kept{{Path: stateDir, What: "Torno's own state"}}
	for _, socket := range sockets {
		places = append(places, mounts.Kept{Path: socket, What: "an engine's socket", Socket: true})
	}
	for _, dir := range engines.Dirs() {
		places = append(places, mounts.Kept{Path: dir, What: "an engine's own directory"})
	}
	for _, place := range places {
		if err := bases.Keep(place); err != nil && !errors.Is(err, fs.ErrNotExist) && !closed(err) {
			return err
		}
	}
	return nil
}

// closed says that we may not even look: an ordinary user cannot bring into a sandbox what is shut for that user, and
// neither can anybody in there, where the sandbox has no more rights than we have.
func closed(err error) bool { return errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 }

// CheckSocket refuses what is no socket, and an engine's: with that a child would be root on the host. Whoever makes the
// sandbox will look the path up again, so what was found here is for init to compare with.
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
