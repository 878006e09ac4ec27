package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Slots are the staging directories of one installation, numbered from 1. They lie in one directory that belongs to the
// host alone. If mounts are placed by handle, this directory is a shared mount of its own, so that placed mounts reach
// running sandboxes. Slots are safe for concurrent use.
type Slots struct {
	path     string
	count    int
	byHandle bool
	root     *os.File // the directory; with byHandle, the root of its own mount
	mount    uint64   // the id of this mount
	ours     bool     // we made the mount, so Close may end it

	mu   sync.Mutex
	used map[int]*Slot
}

// OpenSlots prepares dir to hold count slots, and makes dir if it is missing. With byHandle it makes dir a shared
// mount; after a restart it finds the earlier mount and keeps it, because running sandboxes receive their mounts from
// it. Without byHandle no right to mount is needed, and Place cannot be used.
//
// The directory has mode 0700. A mount in a slot shows a user's tree without the directories above it, which may have
// shut other users out.
func OpenSlots(dir string, count int, byHandle bool) (*Slots, error) {
	root, err := openOwn(dir)
	if err != nil {
		return nil, err
	}
	s := &Slots{count: count, byHandle: byHandle, root: root, used: map[int]*Slot{}}
	if s.path, err = pathOf(int(root.Fd())); err == nil && byHandle {
		err = s.mountItself()
	}
	if err != nil {
		s.root.Close()
		return nil, fmt.Errorf("prepare the slots in %q: %w", dir, err)
	}
	return s, nil
}

// openOwn makes and opens a directory that only our own user may enter.
func openOwn(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		err = fmt.Errorf("slots directory %q belongs to another user", dir)
	}
	if err == nil {
		err = os.Chmod(procPath(int(f.Fd())), 0o700)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mountItself makes sure that the directory is the root of a shared mount.
func (s *Slots) mountItself() error {
	id, isRoot, err := mountOf(int(s.root.Fd()))
	if err != nil {
		return err
	}
	infos, err := readMountInfo()
	if err != nil {
		return err
	}
	if isRoot && infos[id].shared {
		s.mount, s.ours = id, bindsItself(infos, id) || isOurMemory(infos[id])
		return nil
	}
	tree, err := s.newRoot()
	if err != nil {
		return err
	}
	if err := s.attach(tree); err != nil {
		tree.Close()
		return err
	}
	s.root.Close()
	s.root, s.ours = tree, true
	s.mount, _, err = mountOf(int(tree.Fd()))
	return err
}

// newRoot returns a new file system in memory: slots are made for each sandbox, and need not survive a reboot. If an
// earlier process has left something in the directory, newRoot returns a mount of that directory, so that Sweep finds
// it.
func (s *Slots) newRoot() (*os.File, error) {
	left, err := namesIn(int(s.root.Fd()))
	switch {
	case err != nil:
		return nil, err
	case len(left) == 0:
		return newMemory()
	}
	return cloneTree(int(s.root.Fd()), &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE,
	})
}

// attach makes the new root a shared mount, shared with no mount of the original, and puts it on top.
func (s *Slots) attach(tree *os.File) error {
	shared := unix.MountAttr{Propagation: unix.MS_SHARED}
	if err := unix.MountSetattr(int(tree.Fd()), "", unix.AT_EMPTY_PATH, &shared); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	return moveMount(tree, int(s.root.Fd()))
}

// Acquire takes a free, empty slot. It skips a number whose directory still exists: this number becomes free through
// Adopt and Free, or through Sweep.
func (s *Slots) Acquire() (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 1; n <= s.count; n++ {
		if s.used[n] != nil {
			continue
		}
		err := makeDir(int(s.root.Fd()), strconv.Itoa(n))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make slot %d: %w", n, err)
		}
		return s.take(n)
	}
	return nil, ErrNoSlot
}

// Adopt takes the slot of this number as it is, because a sandbox from before a restart uses it. It makes the directory
// if it is missing.
func (s *Slots) Adopt(n int) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 {
		return nil, fmt.Errorf("%d is no slot's number", n)
	}
	if s.used[n] != nil {
		return nil, fmt.Errorf("adopt slot %d: %w", n, ErrSlotInUse)
	}
	if err := makeDir(int(s.root.Fd()), strconv.Itoa(n)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make slot %d: %w", n, err)
	}
	return s.take(n)
}

// take opens the slot's directory and remembers that it is in use.
func (s *Slots) take(n int) (*Slot, error) {
	dir, err := openDir(int(s.root.Fd()), strconv.Itoa(n))
	if err != nil {
		return nil, fmt.Errorf("open slot %d: %w", n, err)
	}
	slot := &Slot{slots: s, n: n, dir: dir}
	if err := slot.makeRunDir(); err != nil {
		dir.Close()
		return nil, err
	}
	s.used[n] = slot
	return slot, nil
}

// Leftovers returns the numbers that have a directory but are not in use: an earlier process left them behind.
func (s *Slots) Leftovers() ([]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := namesIn(int(s.root.Fd()))
	if err != nil {
		return nil, fmt.Errorf("list the slots in %q: %w", s.path, err)
	}
	var left []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err == nil && n >= 1 && strconv.Itoa(n) == name && s.used[n] == nil {
			left = append(left, n)
		}
	}
	slices.Sort(left)
	return left, nil
}

// Sweep empties and removes every leftover whose number is not in keep. The sandboxes of these slots must be gone.
func (s *Slots) Sweep(keep map[int]bool) error {
	left, err := s.Leftovers()
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range left {
		if keep[n] {
			continue
		}
		slot, err := s.Adopt(n)
		if err == nil {
			err = slot.Free()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Close closes the directory. If no slot is left, Close ends the directory's own mount too. Otherwise the mount stays
// for the sandboxes that live on, and OpenSlots finds it again.
func (s *Slots) Close() error {
	left, err := s.Leftovers()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.ours && len(left) == 0 && len(s.used) == 0 {
		err = detach(int(s.root.Fd()))
	}
	return errors.Join(err, s.root.Close())
}
