package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
	"torno/sandbox"
)

// keptPlaces are what no sandbox may see: our own state, the outboxes and the engine's sockets. They are known by device
// and inode, so that no spelling, link or second mount of a path gets around them.
type keptPlaces struct {
	state   place
	holders map[place]string // directories that hold a kept place, and what that is
	sockets map[place]string
}

type place struct{ dev, ino uint64 }

// usualSockets are where engines listen on most machines.
var usualSockets = []string{
	"/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock",
}

// engineSockets are the usual ones and the one that we use ourselves.
func engineSockets(host string) []string {
	own, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return usualSockets
	}
	return append([]string{own}, usualSockets...)
}

func keepPlaces(stateDir string, outboxes, sockets []string) (keptPlaces, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return keptPlaces{}, fmt.Errorf("make the state directory: %w", err)
	}
	real, err := filepath.EvalSymlinks(stateDir)
	if err != nil {
		return keptPlaces{}, fmt.Errorf("find the state directory: %w", err)
	}
	k := keptPlaces{holders: map[place]string{}, sockets: map[place]string{}}
	if k.state, err = placeOf(real); err != nil {
		return keptPlaces{}, err
	}
	if err := k.keep(real, "Torno's own state"); err != nil {
		return keptPlaces{}, err
	}
	for _, outbox := range outboxes {
		if err := k.keepOutbox(outbox); err != nil {
			return keptPlaces{}, err
		}
	}
	for _, socket := range sockets {
		if err := k.keepSocket(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return keptPlaces{}, err
		}
	}
	return k, nil
}

// keep enters a path with all the directories above it.
func (k keptPlaces) keep(path, what string) error {
	for {
		at, err := placeOf(path)
		if err != nil {
			return err
		}
		k.holders[at] = what
		if path == "/" {
			return nil
		}
		path = filepath.Dir(path)
	}
}

// keepOutbox keeps an outbox from every child: whoever writes in it asks as its parent. What lies in it may be a workspace.
func (k keptPlaces) keepOutbox(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("find the outbox: %w", err)
	}
	return k.keep(real, "an outbox, where no child may write or read requests")
}

func (k keptPlaces) keepSocket(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	at, err := placeOf(real)
	if err != nil {
		return err
	}
	k.sockets[at] = real
	return k.keep(filepath.Dir(real), "the engine's socket "+real)
}

func placeOf(path string) (place, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return place{}, &fs.PathError{Op: "look at", Path: path, Err: err}
	}
	return place{uint64(st.Dev), st.Ino}, nil
}

// why says why a pinned source may not be mounted, or "".
func (k keptPlaces) why(pin *mounts.Pin) string {
	if what := k.holders[place{pin.Dev, pin.Ino}]; what != "" {
		return "it is or holds " + what
	}
	if k.inState(pin) {
		return "it lies in Torno's own state"
	}
	return ""
}

// inState climbs from where the pinned thing is. A parent cannot move what is ours, so nothing changes on the way.
func (k keptPlaces) inState(pin *mounts.Pin) bool {
	path, err := pin.HerePath()
	for ; err == nil && path != "/"; path = filepath.Dir(path) {
		if at, err := placeOf(path); err == nil && at == k.state {
			return true
		}
	}
	return false
}

// checkSocket refuses what is no socket, and the engine's: with that a child would be root on the host. The engine will
// look the path up again, so what was found here is for init to compare with.
func (k keptPlaces) checkSocket(s sandbox.Socket) (place, error) {
	var st unix.Stat_t
	if err := unix.Lstat(s.Host, &st); err != nil {
		return place{}, fmt.Errorf("socket of the profile: %w", &fs.PathError{Op: "look at", Path: s.Host, Err: err})
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return place{}, fmt.Errorf("socket of the profile: %s is not a unix socket (links are not followed)", s.Host)
	}
	at := place{uint64(st.Dev), st.Ino}
	if engine := k.sockets[at]; engine != "" {
		return place{}, fmt.Errorf("socket of the profile: %s is the engine's own socket %s, which no sandbox gets", s.Host, engine)
	}
	return at, nil
}
