package create

import (
	"errors"
	"log/slog"
	"testing"

	"torno/sandbox"
)

// TestAFailedLaunchIsForgotten when it is undone. Until then its own sandbox waits, and no other.
func TestAFailedLaunchIsForgotten(t *testing.T) {
	f := NewFailedLaunches(slog.New(slog.DiscardHandler))
	m, broken := &making{}, errors.New("the engine is away")
	m.ID = sandbox.NewSandboxID()
	m.undoContainer(func() error { return broken })
	f.Add(m.ID, m.unsure.Load, m.RollBack)
	if err := f.RetryFor(m.ID); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("its sandbox may be created: %v", err)
	}
	if err := f.RetryFor(sandbox.NewSandboxID()); err != nil {
		t.Errorf("another one may not: %v", err)
	}
	broken = nil
	if err := f.RetryFor(m.ID); err != nil || len(f.all) != 0 {
		t.Errorf("when it is undone: %v, with %d left", err, len(f.all))
	}
}
