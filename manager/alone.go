package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"torno/internal/beneath"
	"torno/internal/flock"
)

// mostAlone bounds how long a client waits for another one, which may have been stopped.
const mostAlone = 2 * time.Second

// alone locks the outbox against other clients, calls a function and unlocks the outbox. The files of a run are found by
// the subagent's name. Without the lock, another client could put a new request there after this client has looked at
// the old one, and before this client removes its files.
//
// If there is no lock to be had, because the file system has none, the directory of the copies belongs to another user,
// or another client holds the lock for too long, alone calls the function without it.
func (m *Manager) alone(call func() error) error {
	unlock, err := m.lock()
	if err != nil {
		m.log.Debug("outbox not locked against other clients", "error", err)
		return call()
	}
	defer unlock()
	return call()
}

// lock locks the directory of the copies. Once it has waited for another client in vain, it waits for none until it has
// had the lock again.
func (m *Manager) lock() (unlock func(), err error) {
	root, err := m.lockable()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	err = flock.Try(dir)
	if errors.Is(err, flock.ErrHeld) && !m.impatient.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), mostAlone)
		defer cancel()
		err = flock.Wait(ctx, dir)
	}
	m.impatient.Store(errors.Is(err, flock.ErrHeld))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", TakenDir, err), dir.Close())
	}
	return func() {
		_ = flock.Unlock(dir) // a process that was forked meanwhile may have the descriptor, too
		_ = dir.Close()
	}, nil
}

// lockable opens the directory of the copies. If it is missing, the outbox's owner or root makes it. Another user does
// not, because the owner could then not use it.
func (m *Manager) lockable() (*os.Root, error) {
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := beneath.Step(root, TakenDir)
	owner, _ := m.dir.Owner()
	if user := os.Geteuid(); errors.Is(err, fs.ErrNotExist) && (user == 0 || user == int(owner)) {
		return m.makeTaken()
	}
	return dir, err
}
