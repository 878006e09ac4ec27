package mounts

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// rootDir is the directory in a slot for the sandbox's own root. Launchers use it if their engine makes no root.
const rootDir = "root"

// RootDir returns the path for the sandbox's root. The launcher makes the directory and fills it.
func (s *Slot) RootDir() string { return filepath.Join(s.Path(), rootDir) }

// Show mounts a place of the host's own read-only into the slot's root, without the mounts below the place. At rel a
// directory or a file must exist already.
func (s *Slot) Show(source, rel string) error {
	if checkRel(rel) != "" {
		return fmt.Errorf("show %s at %q: not a clean relative path", source, rel)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.show(source, filepath.Join(rootDir, rel)); err != nil {
		return fmt.Errorf("show %s at %q in slot %d: %w", source, rel, s.n, err)
	}
	return nil
}

// ShowIn does the work of Show in a view, over the directory or file that is there.
func (s *Slot) ShowIn(view int, source, rel string) error {
	if checkRel(rel) != "" {
		return fmt.Errorf("show %s at %q: not a clean relative path", source, rel)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.show(source, filepath.Join(viewName(view), rel)); err != nil {
		return fmt.Errorf("show %s at %q in view %d of slot %d: %w", source, rel, view, s.n, err)
	}
	return nil
}

func (s *Slot) show(source, rel string) error {
	place, err := lookup(int(s.dir.Fd()), rel, unix.O_PATH, across)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	from, err := os.OpenFile(source, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	tree, err := cloneTree(int(from.Fd()), &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE,
	})
	if err != nil {
		return err
	}
	defer tree.Close()
	return moveMount(tree, place)
}

// Stack makes the slot's root from two directories of the host's own, read-only. If both have an entry of the same
// name, the upper one's is seen; if both entries are directories, their contents are merged. The caller passes the
// lower one open, so that it is certainly the directory that the caller found.
func (s *Slot) Stack(upper string, lower *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stack(upper, lower); err != nil {
		return fmt.Errorf("lay %s over %s in slot %d: %w", upper, lower.Name(), s.n, err)
	}
	return nil
}

func (s *Slot) stack(upper string, lower *os.File) error {
	if err := makeDir(int(s.dir.Fd()), rootDir); err != nil {
		return err
	}
	place, err := lookup(int(s.dir.Fd()), rootDir, unix.O_PATH|unix.O_DIRECTORY, beneath)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	above, err := os.OpenFile(upper, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer above.Close()
	// By handle, because a path could contain a colon or a comma, which the kernel would take for a separator.
	layers := "lowerdir=" + procPath(int(above.Fd())) + ":" + procPath(int(lower.Fd()))
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	return os.NewSyscallError("mount", unix.Mount("overlay", procPath(place), "overlay", flags, layers))
}
