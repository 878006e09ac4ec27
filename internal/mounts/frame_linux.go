package mounts

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Frame makes a view a mount of its own, before anything is placed in it. Some runtimes cannot bind a directory
// read-only without making everything below it read-only. Their launchers bind a frame, after Seal has made it
// read-only.
func (s *Slot) Frame(view int) error {
	if _, err := s.ViewDir(view); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.frame(viewName(view)); err != nil {
		return fmt.Errorf("make view %d of slot %d a mount: %w", view, s.n, err)
	}
	return nil
}

func (s *Slot) frame(name string) error {
	if !s.slots.byHandle {
		return errors.New("the slots were opened for an engine that binds by path")
	}
	dir, err := openDir(int(s.dir.Fd()), name) // not a mount yet
	if err != nil {
		return err
	}
	defer dir.Close()
	tree, err := cloneTree(int(dir.Fd()), &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE,
	})
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := moveMount(tree, int(dir.Fd())); err != nil { // from here on it is shared, as the mount of all slots is
		return err
	}
	id, _, err := mountOf(int(tree.Fd()))
	if err != nil {
		return err
	}
	if s.frames == nil {
		s.frames = map[uint64]bool{}
	}
	s.frames[id] = true
	return nil
}

// Seal makes a frame read-only, but nothing that was placed in it. Copies that a runtime makes from now on stay
// read-only.
func (s *Slot) Seal(view int) error {
	return s.setFrame(view, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// Unseal makes a frame writable, so that mounts can be placed in it again. Copies of it stay read-only.
func (s *Slot) Unseal(view int) error {
	return s.setFrame(view, unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
}

func (s *Slot) setFrame(view int, attr unix.MountAttr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fd, err := s.frameOf(view)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return fmt.Errorf("seal or open view %d of slot %d: %w", view, s.n, os.NewSyscallError("mount_setattr", err))
	}
	return nil
}

// frameOf opens the root of a view's frame. The caller holds the lock.
func (s *Slot) frameOf(view int) (int, error) {
	fd, err := lookup(int(s.dir.Fd()), viewName(view), unix.O_PATH|unix.O_DIRECTORY, across)
	if err != nil {
		return -1, fmt.Errorf("open view %d of slot %d: %w", view, s.n, err)
	}
	if err := isMount(fd); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("view %d of slot %d: %w", view, s.n, err)
	}
	return fd, nil
}

// Placed describes a mount as the caller placed it.
type Placed struct {
	Dev, Ino uint64
	Writable bool
}

// Prove compares the mount at a place of a view with the mount that was placed there: the directory or file, and the
// flags. It follows no link on the way. If a directory on the way has moved inside an outer mount, Prove fails too.
func (s *Slot) Prove(view int, rel string, want Placed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := path.Join(viewName(view), rel)
	fd, err := lookup(int(s.dir.Fd()), place, unix.O_PATH, across)
	if err == nil {
		err = want.matches(fd)
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("%w: %q in slot %d: %w", ErrNotPlaced, place, s.n, err)
	}
	return nil
}

// ProveSealed makes sure that a view is a read-only frame.
func (s *Slot) ProveSealed(view int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fd, err := s.frameOf(view)
	if err == nil {
		err = proveFlags(fd, false)
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotPlaced, err)
	}
	return nil
}

func (p Placed) matches(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if st.Dev != p.Dev || st.Ino != p.Ino {
		return fmt.Errorf("it is device %d inode %d, and device %d inode %d was placed there", st.Dev, st.Ino, p.Dev, p.Ino)
	}
	if err := isMount(fd); err != nil {
		return err
	}
	return proveFlags(fd, p.Writable)
}

func isMount(fd int) error {
	_, isRoot, err := mountOf(fd)
	if err == nil && !isRoot {
		err = errors.New("no mount lies there")
	}
	return err
}

// proveFlags compares the flags of the mount around the handle.
func proveFlags(fd int, writable bool) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	const hard = unix.ST_NOSUID | unix.ST_NODEV
	switch readOnly := fs.Flags&unix.ST_RDONLY != 0; {
	case readOnly == writable:
		return fmt.Errorf("read-only is %t, and should be %t", readOnly, !writable)
	case fs.Flags&hard != hard:
		return errors.New("it is not nosuid and nodev")
	}
	return nil
}
