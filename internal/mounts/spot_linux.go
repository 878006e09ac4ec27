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

// spot is where a directory or file lies in its file system. A bind mount gives a directory a second path and leaves its
// spot as it is, so two paths lead to one place if their spots are equal, and into one another if their spots are nested.
//
// A file system can show the files of another one under numbers of its own: an overlay, FUSE, a file system of a file on a
// loop device, a network mount of this very machine. Its spots cannot be compared with those of the other file system.
type spot struct{ device, path string }

// holds says whether the other spot is this one or lies in it.
func (s spot) holds(other spot) bool {
	_, in := beneathPath(s.path, other.path)
	return in && s.device == other.device
}

// beneathPath is the way from one clean absolute path down to another.
func beneathPath(dir, name string) (rel string, ok bool) {
	if dir == name {
		return "", true
	}
	return paths.Below(dir, name)
}

// errDetached says that a handle is in a mount that is mounted nowhere any more. From there nothing can be cloned.
var errDetached = errors.New("it lies in no mount that the watcher sees: it was unmounted, or the watcher is in a chroot")

// anchor is a handle with the mount that it lies in. Reading the table of all mounts takes longer than everything else
// about a pin, and each of our own mounts changes the table; so it is read once, and again only when what we know of
// this one mount turns out to be wrong. While the handle is open, no other mount can get this mount's number. One change
// is not noticed: a new name, in another mount, of a directory above the directory that is mounted here.
type anchor struct {
	file   *os.File
	device string
	users  atomic.Int32 // the Bases count as one

	mu    sync.Mutex
	mount mountInfo
	name  string // of the anchor itself, when it was last asked for its spot
	here  spot   // what came of that, when it last could be told
}

// newAnchor takes the handle over.
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

// learn looks the mount up.
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

// spotOf tells the spot of a handle in the same mount.
func (a *anchor) spotOf(file *os.File) (spot, error) {
	name, err := pathOf(int(file.Fd()))
	if err != nil {
		return spot{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.translate(name)
}

// translate must be called with the lock. name is the kernel's name of something in the mount.
func (a *anchor) translate(name string) (spot, error) {
	rel, ok := beneathPath(a.mount.point, name)
	if !ok { // moved, or gone
		if err := a.learn(); err != nil {
			return spot{}, err
		}
		if rel, ok = beneathPath(a.mount.point, name); !ok {
			return spot{}, errDetached
		}
	}
	return spot{a.mount.device, path.Join(a.mount.root, rel)}, nil
}

// spot is the anchor's own; with an error, the last one. Every pin asks every withheld place, so an answer that cannot have
// changed is not made again.
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

// sameAs says whether two handles are of one directory.
func (a *anchor) sameAs(other *os.File) bool {
	var one, two unix.Stat_t
	err := errors.Join(unix.Fstat(int(a.file.Fd()), &one), unix.Fstat(int(other.Fd()), &two))
	return err == nil && one.Dev == two.Dev && one.Ino == two.Ino
}
