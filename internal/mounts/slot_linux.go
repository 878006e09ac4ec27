package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Slot is one staging directory: the host's files for one sandbox, and its views.
type Slot struct {
	slots *Slots
	n     int

	mu     sync.Mutex
	dir    *os.File
	frames map[uint64]bool // mounts that Frame has made for views since the watcher started
}

const runDir = "run"

// Number returns the slot's number, which also decides the sandbox's identity. It is unique in the installation.
func (s *Slot) Number() int { return s.n }

// Path returns the slot's directory.
func (s *Slot) Path() string { return filepath.Join(s.slots.path, strconv.Itoa(s.n)) }

// RunDir returns the directory for the host's own files. The engine binds it read-only.
func (s *Slot) RunDir() string { return filepath.Join(s.Path(), runDir) }

// ViewDir returns the directory for the i-th path prefix of the sandbox, from 0. It makes the directory if it is
// missing.
func (s *Slot) ViewDir(i int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := makeDir(int(s.dir.Fd()), viewName(i))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make view %d of slot %d: %w", i, s.n, err)
	}
	return filepath.Join(s.Path(), viewName(i)), nil
}

func viewName(i int) string { return "view" + strconv.Itoa(i) }

func (s *Slot) makeRunDir() error {
	if err := makeDir(int(s.dir.Fd()), runDir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the run directory of slot %d: %w", s.n, err)
	}
	return nil
}

// Clear unmounts everything in the slot and empties the views and the run directory. The directories themselves stay,
// because an engine may have bound them. The caller can repeat Clear until it succeeds.
func (s *Slot) Clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.frames)
	names, err := namesIn(int(s.dir.Fd()))
	for _, name := range names {
		err = errors.Join(err, s.empty(name))
	}
	if err != nil {
		return fmt.Errorf("clear slot %d: %w", s.n, err)
	}
	return nil
}

func (s *Slot) empty(name string) error {
	if err := uncover(int(s.dir.Fd()), name); err != nil {
		return err
	}
	dir, err := openDir(int(s.dir.Fd()), name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return wipe(int(dir.Fd()))
}

// Free clears the slot and gives its number back. If Free fails, the slot stays in use, so that no other sandbox gets
// the number. The caller can then call Free again.
func (s *Slot) Free() error {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots.used[s.n] != s {
		return nil // freed before
	}
	if err := wipe(int(s.dir.Fd())); err != nil {
		return fmt.Errorf("free slot %d: %w", s.n, err)
	}
	if err := unix.Unlinkat(int(s.slots.root.Fd()), strconv.Itoa(s.n), unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("remove slot %d: %w", s.n, err)
	}
	delete(s.slots.used, s.n)
	return s.dir.Close()
}
