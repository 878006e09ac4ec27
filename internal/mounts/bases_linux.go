package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// Bases are the operator's directories. Each is held open from the start, so replacing one of them changes nothing.
// Bases are safe for concurrent use.
type Bases struct {
	mu       sync.RWMutex // never held during a call that a file system answers; see snapshot
	held     map[string]*anchor
	withheld []*withheldPlace
	closed   bool
}

// OpenBases opens each directory once (see Add). Close closes them.
func OpenBases(paths []string) (*Bases, error) {
	b := &Bases{held: make(map[string]*anchor, len(paths))}
	if err := b.Add(paths); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Add opens the directories that are not held yet: all of them, or none. It follows symbolic links in these paths only
// now, never again. It follows only links that belong to root or to us: another owner could exchange a link and so
// choose another directory.
func (b *Bases) Add(paths []string) error {
	added := make(map[string]*anchor, len(paths))
	for _, path := range paths {
		if b.holds(path) || added[path] != nil {
			continue
		}
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			releaseAll(slices.Collect(maps.Values(added)))
			return fmt.Errorf("root %q is not a clean absolute path", path)
		}
		root, err := openBase(path)
		if err != nil {
			releaseAll(slices.Collect(maps.Values(added)))
			return err
		}
		added[path] = root
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.held, added)
	return nil
}

func (b *Bases) holds(path string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.held[path] != nil
}

func openBase(path string) (*anchor, error) {
	root, err := openTrusted(path)
	if err != nil {
		return nil, err
	}
	return newAnchor(root)
}

// Paths returns the paths of the directories, sorted.
func (b *Bases) Paths() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.held))
}

// Is reports whether a base is the directory that other describes.
func (b *Bases) Is(path string, other fs.FileInfo) bool {
	base, err := b.borrow(path)
	if base == nil || err != nil {
		return false
	}
	defer base.release()
	info, err := base.file.Stat()
	return err == nil && os.SameFile(info, other)
}

// Close closes the directories. Pins taken earlier stay good; every later call fails with fs.ErrClosed.
func (b *Bases) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fs.ErrClosed
	}
	b.closed = true
	releaseAll((&snapshot{b.held, b.withheld}).anchors())
	return nil
}

// Pin finds the source with the watcher's own rights (see PinAs).
func (b *Bases) Pin(src sandbox.Source) (*Pin, error) { return b.PinAs(src, ourselves()) }

// PinAs finds the source and keeps it open. If it cannot, the error is a *PathError.
//
// The base belongs to the operator. The path from the base to the source is looked up with the rights of a user. This
// user must be able to pass the base and every directory below it: with root's rights the lookup would pass closed
// directories.
//
// A source in another mount than its base is refused, for two reasons. Clones do not carry mounts below them, so if a
// name could lead through a mount, the same tree would look different depending on where one enters it. And the
// operator did not list that mount as a root.
//
// A source that is part of a withheld place is refused too (see Withhold).
func (b *Bases) PinAs(src sandbox.Source, who User) (*Pin, error) {
	pin, err := b.pin(src, who)
	if errors.Is(err, errDetached) && b.reopen(src.Base) == nil {
		pin, err = b.pin(src, who)
	}
	if errors.Is(err, errDetached) {
		err = &PathError{Source: src, Kind: KindMissing, Err: err}
	}
	return pin, err
}

func (b *Bases) pin(src sandbox.Source, who User) (*Pin, error) {
	base, err := b.borrow(src.Base)
	if err != nil {
		return nil, err
	}
	if base == nil {
		return nil, &PathError{Source: src, Kind: KindEscapes}
	}
	defer base.release()
	if kind := checkRel(src.Rel); kind != "" {
		return nil, &PathError{Source: src, Kind: kind}
	}
	pin, err := find(src, base.file, who)
	if err != nil {
		return nil, err
	}
	if err := b.refuseWithheld(pin, base); err != nil {
		pin.Close()
		return nil, err
	}
	return pin, nil
}

// borrow returns one base, which stays open until the caller calls release, or nil if there is no such base.
func (b *Bases) borrow(path string) (*anchor, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return nil, fs.ErrClosed
	}
	base := b.held[path]
	if base != nil {
		base.users.Add(1)
	}
	return base, nil
}

// find pins a source. It does not look at withheld places.
func find(src sandbox.Source, base *os.File, who User) (*Pin, error) {
	var fd int
	err := who.Do(func() (err error) {
		fd, err = lookup(int(base.Fd()), src.Rel, unix.O_PATH, beneath)
		return err
	})
	if err != nil {
		return nil, lookupError(src, base, err)
	}
	return newPin(src, fd)
}

// pinBase pins a base itself, even if the base holds a withheld place.
func (b *Bases) pinBase(path string) (*Pin, error) {
	src := sandbox.Source{Base: path, Rel: "."}
	base, err := b.borrow(path)
	if err != nil {
		return nil, err
	}
	if base == nil {
		return nil, &PathError{Source: src, Kind: KindEscapes}
	}
	defer base.release()
	return find(src, base.file, ourselves())
}

// reopen handles a base that was unmounted. If the same directory is mounted at its path again, reopen opens it there.
func (b *Bases) reopen(path string) error {
	old, err := b.borrow(path)
	if err != nil {
		return err
	}
	defer old.release()
	again, err := openBase(path)
	if err != nil {
		return err
	}
	if !again.sameAs(old.file) {
		again.file.Close()
		return ErrRootGone
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.held[path] != old {
		again.file.Close() // another caller was faster
		return nil
	}
	b.held[path] = again
	old.release()
	return nil
}

// lookupError turns the kernel's refusal into a PathError, if its meaning is known.
func lookupError(src sandbox.Source, base *os.File, err error) error {
	kind := kindOf(err)
	if kind == "" {
		return fmt.Errorf("open %q beneath %q: %w", src.Rel, src.Base, err)
	}
	var st unix.Stat_t
	if kind == KindMissing && unix.Fstat(int(base.Fd()), &st) == nil && st.Nlink == 0 {
		err = ErrRootGone
	}
	return &PathError{Source: src, Kind: kind, Err: err}
}
