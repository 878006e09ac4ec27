package create

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"torno/sandbox"
)

// Undone are launches that failed and could not be undone yet. It is safe for concurrent use.
type Undone struct {
	log *slog.Logger

	mu   sync.Mutex
	left []*making
}

// NewUndone has none.
func NewUndone(log *slog.Logger) *Undone { return &Undone{log: log} }

// keep remembers what could not be undone.
func (u *Undone) keep(m *making) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.left = append(u.left, m)
}

// Retry tries again to undo what could not be: the engine may be back. What is left at the end of this life, the next
// one finds by its labels.
func (u *Undone) Retry() {
	u.mu.Lock()
	rest := slices.Clone(u.left)
	u.mu.Unlock()
	for _, m := range rest {
		if !m.undoing.TryLock() {
			continue // another call is at it
		}
		err := m.RollBack()
		m.undoing.Unlock()
		if err != nil {
			u.log.Debug("what a failed launch left cannot be undone yet", "sandbox", m.ID, "error", err)
			continue
		}
		u.mu.Lock()
		u.left = slices.DeleteFunc(u.left, func(other *making) bool { return other == m })
		u.mu.Unlock()
	}
}

// RetryFor is Retry before a sandbox is created. The sandbox has to wait while a container of an earlier try may be there: the call that
// undoes that try would remove it under its user.
func (u *Undone) RetryFor(id sandbox.SandboxID) error {
	u.Retry()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range u.left {
		if m.ID == id && m.unsure.Load() {
			return fmt.Errorf("%w: what an earlier try has made is not removed yet", sandbox.ErrUnavailable)
		}
	}
	return nil
}

// undoContainer has a container that may be there removed first. As long as that was not done, its name is in the way of
// whoever tries again.
func (m *making) undoContainer(remove func() error) {
	m.unsure.Store(true)
	m.Undo(func() error {
		err := remove()
		m.unsure.Store(err != nil)
		return err
	})
}
