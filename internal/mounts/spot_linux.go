package mounts

import (
	"errors"
	"os"
	"path"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"torno/internal/paths"
)

// spot is the position of a directory or file in its file system. A bind mount gives a directory a second path but does
// not change its spot. So two paths lead to the same place if their spots are equal, and one place lies in the other if
// their spots are nested.
//
// Some file systems show the files of another file system under their own numbers: an overlay, FUSE, a file system in a
// file on a loop device, a network mount of this same machine. Their spots cannot be compared with the spots of the
// other file system.
type spot struct{ device, path string }

// holds reports whether the other spot is this one or lies in it.
func (s spot) holds(other spot) bool {
	_, in := beneathPath(s.path, other.path)
	return in && s.device == other.device
}

// beneathPath returns the way from one clean absolute path down to another. ok: name is dir or lies below it.
func beneathPath(dir, name string) (rel string, ok bool) {
	if dir == name {
		return "", true
	}
	return paths.Below(dir, name)
}

// errDetached says that a handle lies in a mount that is mounted nowhere any more. Nothing can be cloned from there.
var errDetached = errors.New("it lies in no mount that the watcher sees: it was unmounted, or the watcher is in a chroot")

// anchor is a handle together with its mount. Reading the table of all mounts takes longer than the rest of a pin, and
// each of our own mounts changes the table. So it is read once, and again only if our knowledge of this one mount turns
// out to be wrong. While the handle is open, no other mount can get this mount's number. One change goes unnoticed:
// when a directory above the mounted directory is renamed through another mount.
type anchor struct {
	file   *os.File
	device string
	users  atomic.Int32 // the Bases count as one user

	mu    sync.Mutex
	mount mountInfo
	name  string // the anchor's own path at the last call of spot
	here  spot   // the spot that was last computed from a path
}

// newAnchor takes over the handle.
func newAnchor(file *os.File) (*anchor, error) {
	id, _, err := mountOf(int(file.Fd()))
	a := &anchor{file: file, mount: mountInfo{id: id}}
	if err == nil {
		err = a.learn()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	a.device = a.mount.device
	a.users.Store(1)
	return a, nil
}

// learn looks up the mount in the table of mounts.
func (a *anchor) learn() error {
	infos, err := readMountInfo()
	if err != nil {
		return err
	}
	mount, ok := infos[a.mount.id]
	if !ok {
		return errDetached
	}
	a.mount = mount
	return nil
}

// spotOf returns the spot of a handle in the same mount.
func (a *anchor) spotOf(file *os.File) (spot, error) {
	name, err := pathOf(int(file.Fd()))
	if err != nil {
		return spot{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.translate(name)
}

// translate returns the spot for the kernel's path of something in the mount. The caller holds the lock.
func (a *anchor) translate(name string) (spot, error) {
	rel, ok := beneathPath(a.mount.point, name)
	if !ok { // the mount was moved, or is gone
		if err := a.learn(); err != nil {
			return spot{}, err
		}
		if rel, ok = beneathPath(a.mount.point, name); !ok {
			return spot{}, errDetached
		}
	}
	return spot{a.mount.device, path.Join(a.mount.root, rel)}, nil
}

// spot returns the anchor's own spot; with an error, the last known one. Every pin asks every withheld place, so the
// answer is computed again only if the path has changed.
func (a *anchor) spot() (spot, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var buffer [unix.PathMax]byte
	n, err := unix.Readlink(procPath(int(a.file.Fd())), buffer[:])
	if err != nil {
		return a.here, os.NewSyscallError("readlink", err)
	}
	if string(buffer[:n]) == a.name {
		return a.here, nil
	}
	here, err := a.translate(string(buffer[:n]))
	if err == nil {
		a.name, a.here = string(buffer[:n]), here
	}
	return a.here, err
}

// sameAs reports whether two handles refer to the same directory.
func (a *anchor) sameAs(other *os.File) bool {
	var one, two unix.Stat_t
	err := errors.Join(unix.Fstat(int(a.file.Fd()), &one), unix.Fstat(int(other.Fd()), &two))
	return err == nil && one.Dev == two.Dev && one.Ino == two.Ino
}
