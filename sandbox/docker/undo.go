package docker

import (
	"errors"
	"fmt"
	"io"
	"net"
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

// rollBack undoes what was set up, the newest first. Where a step fails, what it stands on is kept: a slot must not be
// given to another sandbox while a container may exist that has it mounted.
func (m *making) rollBack() error {
	for len(m.undo) > 0 {
		last := len(m.undo) - 1
		if err := m.undo[last](); err != nil {
			return err
		}
		m.undo = m.undo[:last]
	}
	return nil
}

// keepUndo remembers what could not be undone.
func (l *Launcher) keepUndo(m *making) {
	if len(m.undo) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undone = append(l.undone, m)
}

// undoRest tries again to undo what could not be: the engine may be back. What is left at the end of this life, the next
// one finds by its labels.
func (l *Launcher) undoRest() {
	l.mu.Lock()
	rest := l.undone
	l.undone = nil
	l.mu.Unlock()
	for _, m := range rest {
		if err := m.rollBack(); err != nil {
			l.options.Log.Debug("what a failed launch left cannot be undone yet", "run", m.order.run, "error", err)
		}
		l.keepUndo(m)
	}
}
