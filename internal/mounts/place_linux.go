package mounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Place puts the mount below the i-th view, at rel ("." is the view itself; see the package comment). While the way
// leads through the slot, Place makes missing directories, and an empty file if it mounts a file. Inside a mount that
// was placed earlier, everything must exist already: Place makes nothing in a user's tree.
func (s *Slot) Place(d *Detached, view int, rel string) error {
	return s.PlaceFor(d, view, rel, User{})
}

// PlaceFor does the work of Place for a child that may pass directories which root may not pass. Such directories lie
// in mounts that were placed earlier for reading (IDMaps.Reading): there root's capabilities do not count.
func (s *Slot) PlaceFor(d *Detached, view int, rel string, child User) error {
	if checkRel(rel) != "" {
		return fmt.Errorf("place a mount at %q: not a clean relative path", rel)
	}
	if !s.slots.byHandle {
		return fmt.Errorf("place a mount at %q: the slots were opened for an engine that binds by path", rel)
	}
	if d.placed {
		return fmt.Errorf("place a mount at %q: it has a place already", rel)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	target, err := s.target(view, rel, d.Dir, child)
	if err != nil {
		return fmt.Errorf("place a mount at %q in slot %d: %w", rel, s.n, err)
	}
	defer target.Close()
	if err := moveMount(d.file, int(target.Fd())); err != nil {
		return fmt.Errorf("place a mount at %q in slot %d: %w", rel, s.n, err)
	}
	d.placed = true
	return nil
}

// target walks to the place, and opens each step beneath the handle of the step before.
func (s *Slot) target(view int, rel string, dir bool, child User) (*os.File, error) {
	names := []string{viewName(view)}
	if rel != "." {
		names = append(names, strings.Split(rel, "/")...)
	}
	at := s.dir
	for i, name := range names {
		next, err := s.step(at, name, dir || i < len(names)-1, child)
		if i > 0 {
			at.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", filepath.Join(names[:i+1]...), err)
		}
		at = next
	}
	if err := s.checkFree(at); err != nil {
		at.Close()
		return nil, err
	}
	return at, nil
}

// step opens name. If name is missing and at is part of the skeleton, step makes it.
func (s *Slot) step(at *os.File, name string, dir bool, child User) (*os.File, error) {
	fd, err := lookup(int(at.Fd()), name, unix.O_PATH, across)
	if errors.Is(err, unix.EACCES) {
		err = child.Do(func() (err error) {
			fd, err = lookup(int(at.Fd()), name, unix.O_PATH, across)
			return err
		})
	}
	if errors.Is(err, unix.ENOENT) {
		if err = s.makePlace(at, name, dir); err != nil {
			return nil, err
		}
		fd, err = lookup(int(at.Fd()), name, unix.O_PATH, across)
	}
	if kind := kindOf(err); kind == KindLink || kind == KindNotDir {
		return nil, ErrNoPlace
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	if want := map[bool]uint32{true: unix.S_IFDIR, false: unix.S_IFREG}[dir]; st.Mode&unix.S_IFMT != want {
		unix.Close(fd)
		return nil, ErrNoPlace
	}
	return os.NewFile(uintptr(fd), name), nil
}

// makePlace makes one piece of the skeleton. It fails if at is not part of the skeleton.
func (s *Slot) makePlace(at *os.File, name string, dir bool) error {
	own, _, err := s.own(at)
	switch {
	case err != nil:
		return err
	case !own:
		return ErrNoPlace
	case dir:
		return makeDir(int(at.Fd()), name)
	}
	return os.NewSyscallError("mknod", unix.Mknodat(int(at.Fd()), name, unix.S_IFREG|0o400, 0))
}

// own reports whether a directory or file is part of the skeleton, and not of a mount that was placed.
func (s *Slot) own(f *os.File) (own, isRoot bool, err error) {
	id, isRoot, err := mountOf(int(f.Fd()))
	return s.slots.byHandle && (id == s.slots.mount || s.frames[id]), isRoot, err
}

// checkFree refuses a place that carries a mount, and a place where a new mount would hide one.
func (s *Slot) checkFree(place *os.File) error {
	own, isRoot, err := s.own(place)
	if err != nil {
		return err
	}
	if isRoot {
		return ErrTaken
	}
	if !own {
		return nil
	}
	names, err := namesIn(int(place.Fd()))
	if errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err == nil && len(names) > 0 {
		return ErrTaken
	}
	return err
}
