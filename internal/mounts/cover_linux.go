package mounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ShowCovered does the work of Show for an ordinary user, who cannot leave out the mounts below the source. It covers
// them instead.
func (s *Slot) ShowCovered(source, rel string, covers Covers) error {
	err := s.Show(source, rel)
	if !errors.Is(err, ErrBelow) {
		return err
	}
	if err := s.showAll(source, rel); err != nil {
		return fmt.Errorf("show %s at %q in slot %d: %w", source, rel, s.n, err)
	}
	below, err := s.mountsBelow(rel)
	if err != nil {
		return err
	}
	for _, rel := range below {
		if err := s.cover(rel, covers); err != nil {
			return err
		}
	}
	return nil
}

// showAll shows a place together with everything that is mounted below it.
func (s *Slot) showAll(source, rel string) error {
	place, err := lookup(int(s.dir.Fd()), filepath.Join(rootDir, rel), unix.O_PATH, across)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	tree, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return os.NewSyscallError("open_tree", err)
	}
	file := os.NewFile(uintptr(tree), "detached mounts")
	defer file.Close()
	attr := unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE,
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	return moveMount(file, place)
}

// mountsBelow lists the mounts below a place of the slot's root, but no mount that lies below another listed one.
func (s *Slot) mountsBelow(rel string) ([]string, error) {
	root, err := pathOf(int(s.dir.Fd()))
	if err != nil {
		return nil, err
	}
	infos, err := readMountInfo()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, info := range infos {
		if below, in := beneathPath(filepath.Join(root, rootDir, rel), info.point); in && below != "" {
			all = append(all, filepath.Join(rel, below))
		}
	}
	slices.Sort(all) // an outer place comes before the places below it
	var outer []string
	for _, at := range all {
		if !slices.ContainsFunc(outer, func(o string) bool { _, in := beneathPath(o, at); return in }) {
			outer = append(outer, at)
		}
	}
	return outer, nil
}

// cover puts an empty directory or file on a place.
func (s *Slot) cover(rel string, covers Covers) error {
	fd, err := lookup(int(s.dir.Fd()), filepath.Join(rootDir, rel), unix.O_PATH, across)
	if err != nil {
		return fmt.Errorf("cover %q: %w", rel, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("cover %q: %w", rel, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return s.Show(covers.Dir, rel)
	}
	return s.Show(covers.File, rel)
}
