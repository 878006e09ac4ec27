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
	left []*launch
}

// launch is one that failed.
type launch struct {
	id     sandbox.SandboxID
	unsure func() bool
	undo   func() error
	busy   sync.Mutex // held by the one call that undoes it
}

// NewUndone has none.
func NewUndone(log *slog.Logger) *Undone { return &Undone{log: log} }

// Keep remembers a launch that undo could not undo, and may undo later. unsure says whether a container of it may be there.
func (u *Undone) Keep(id sandbox.SandboxID, unsure func() bool, undo func() error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.left = append(u.left, &launch{id: id, unsure: unsure, undo: undo})
}

// Retry tries again to undo what could not be: the engine may be back. What is left at the end of this life, the next
// one finds by its labels.
func (u *Undone) Retry() {
	u.mu.Lock()
	rest := slices.Clone(u.left)
	u.mu.Unlock()
	for _, one := range rest {
		if !one.busy.TryLock() {
			continue // another call is at it
		}
		err := one.undo()
		one.busy.Unlock()
		if err != nil {
			u.log.Debug("what a failed launch left cannot be undone yet", "sandbox", one.id, "error", err)
			continue
		}
		u.mu.Lock()
		u.left = slices.DeleteFunc(u.left, func(other *launch) bool { return other == one })
		u.mu.Unlock()
	}
}

// RetryFor is Retry before a sandbox is created. The sandbox has to wait while a container of an earlier try may be there: the call that
// undoes that try would remove it under its user.
func (u *Undone) RetryFor(id sandbox.SandboxID) error {
	u.Retry()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, one := range u.left {
		if one.id == id && one.unsure() {
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
