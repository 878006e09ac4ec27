package manager

import (
	"errors"
	"os"
	"syscall"
	"time"

	"torno/internal/beneath"
)

// mostAlone bounds how long a client waits for another one: that one may have been stopped.
const mostAlone = 2 * time.Second

// alone calls a function while no other client takes a result out of the outbox or asks for a run. A run's files are
// known by the subagent's name. Without the lock, another client could put a new request there after this client has
// looked at the old one, and before this client removes it.
//
// The lock is on the directory of the copies. If it cannot be had, because the file system has no locks or the directory
// belongs to another user, the client goes on without it.
func (m *Manager) alone(call func() error) error {
	if dir, err := m.openTaken(); err == nil {
		defer dir.Close() // which ends the lock
		for begin := time.Now(); isLocked(dir) && time.Since(begin) < mostAlone; {
			time.Sleep(time.Millisecond)
		}
	}
	return call()
}

// isLocked locks a directory, unless another client has locked it.
func isLocked(dir *os.File) bool {
	return errors.Is(syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func (m *Manager) openTaken() (*os.File, error) {
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := beneath.Step(root, TakenDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(".")
}

// makeTaken makes the directory of the copies. A client that takes a result makes it first, so that the client that asks for
// the subagent's next run finds it.
func (m *Manager) makeTaken() (*os.Root, error) {
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, _, err := m.makeDir(root, TakenDir, 0o700)
	return dir, err
}
