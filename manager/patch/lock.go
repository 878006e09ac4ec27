package patch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrBusy says that another apply of the same child's work is under way.
var ErrBusy = errors.New("another apply of this child's work is under way")

const lockName = "lock"

// lock keeps other applies of a child's work away until the returned file is closed or the process ends.
func (s *Store) lock(id string) (*os.File, error) {
	f, err := s.root.OpenFile(filepath.Join(id, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the record of the copy of %s: %w", id, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the record of the copy of %s: %w", id, err), f.Close())
	}
	return f, nil
}

// unchanged makes sure that no other apply was done since the work was taken. Such an apply has made its changes part
// of the base on the disk, and saving the base from this Work would lose them. The caller must hold the lock.
func (w *Work) unchanged() error {
	now, err := w.store.Base(w.Base.Subagent)
	if err != nil {
		return err
	}
	if now.read != w.Base.read {
		return fmt.Errorf("%w: another apply of it ran meanwhile", ErrChanging)
	}
	return nil
}
