package create

import (
	"errors"
	"log/slog"
	"testing"

	"torno/sandbox"
)

// TestUndoneIsForgotten when it is undone, and keeps its own sandbox waiting until then, and no other.
func TestUndoneIsForgotten(t *testing.T) {
	u := NewUndone(slog.New(slog.DiscardHandler))
	m, broken := &making{}, errors.New("the engine is away")
	m.ID = sandbox.NewSandboxID()
	m.undoContainer(func() error { return broken })
	u.Keep(m.ID, m.unsure.Load, m.RollBack)
	if err := u.RetryFor(m.ID); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("its sandbox may be created: %v", err)
	}
	if err := u.RetryFor(sandbox.NewSandboxID()); err != nil {
		t.Errorf("another one may not: %v", err)
	}
	broken = nil
	if err := u.RetryFor(m.ID); err != nil || len(u.left) != 0 {
		t.Errorf("when it is undone: %v, with %d left", err, len(u.left))
	}
}
