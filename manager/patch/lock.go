package patch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"torno/internal/flock"
)

// ErrBusy says that another apply of the same child's work is under way.
var ErrBusy = errors.New("another apply of this child's work is under way")

const lockName = "lock"

// lock keeps other applies of a child's work away until the returned file is closed or the process ends.
func (s *Store) lock(id string) (*os.File, error) {
	f, err := s.root.OpenFile(filepath.Join(id, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the record of the copy of %s: %w", id, err)
	}
	err = flock.Try(f)
	if errors.Is(err, flock.ErrHeld) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the record of the copy of %s: %w", id, err), f.Close())
	}
	return f, nil
}

// unlock ends a lock, even if a program that is just being started has inherited it.
func unlock(lock *os.File) {
	_ = flock.Unlock(lock) // if this fails, the lock ends when the last process closes the file
	lock.Close()
}

// lockNotes locks the records of what hosts gave children. It waits for a client that holds the lock.
func (s *Store) lockNotes(ctx context.Context) (*os.File, error) {
	f, err := s.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open the records of copies: %w", err)
	}
	if err := flock.Wait(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the records of copies against other clients: %w", err), f.Close())
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
