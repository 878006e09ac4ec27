package docker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"torno/sandbox"
)

// away marks an error that tells of nothing but an engine that does not answer, or could not be asked: without a file
// descriptor to spare nothing can be found out either.
func away(err error) error {
	var network net.Error
	switch {
	case err == nil, errors.Is(err, sandbox.ErrUnavailable):
		return err
	case client.IsErrConnectionFailed(err), errdefs.IsUnavailable(err), errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
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
