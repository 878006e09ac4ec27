package mounts

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// rootDir is what stands for the sandbox's own root in a slot, for launchers that have no engine to make one.
const rootDir = "root"

// RootDir is the directory for the sandbox's root. Nobody has made it: what it consists of is the launcher's.
func (s *Slot) RootDir() string { return filepath.Join(s.Path(), rootDir) }

// Show puts a place of the host's own, and nothing that is mounted below it, into the slot's root: read-only, and at rel,
// where there is a directory or a file to carry it.
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
