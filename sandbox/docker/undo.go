package docker

import (
	"fmt"
	"slices"

	"torno/sandbox"
)

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

// keepUndo remembers what could not be undone.
func (l *Launcher) keepUndo(m *making) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undone = append(l.undone, m)
}

// undoRest tries again to undo what could not be: the engine may be back. What is left at the end of this life, the next
// one finds by its labels.
func (l *Launcher) undoRest() {
	l.mu.Lock()
	rest := slices.Clone(l.undone)
	l.mu.Unlock()
	for _, m := range rest {
		if !m.undoing.TryLock() {
			continue // somebody is at it
		}
		err := m.RollBack()
		m.undoing.Unlock()
		if err != nil {
			l.options.Log.Debug("what a failed launch left cannot be undone yet", "sandbox", m.ID, "error", err)
			continue
		}
		l.mu.Lock()
		l.undone = slices.DeleteFunc(l.undone, func(other *making) bool { return other == m })
		l.mu.Unlock()
	}
}

// checkUndone keeps a sandbox waiting while a container of an earlier try may be there: whoever undoes that try would remove
// it under its user.
func (l *Launcher) checkUndone(id sandbox.SandboxID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.undone {
		if m.ID == id && m.unsure.Load() {
			return fmt.Errorf("%w: what an earlier try has made is not removed yet", sandbox.ErrUnavailable)
		}
	}
	return nil
}
