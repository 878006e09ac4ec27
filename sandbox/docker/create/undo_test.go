package create

import (
	"errors"
	"log/slog"
	"testing"

	"torno/sandbox"
	"torno/sandbox/local"
)

// TestNobodyGetsWhatIsBeingUndone has one sandbox's creation undo what another's has left, and that other one try again
// meanwhile: it must not find the container which is on its way out, nor go on while nobody knows whether there is one.
func TestNobodyGetsWhatIsBeingUndone(t *testing.T) {
	id := sandbox.NewSandboxID()
	left := NewUndone(slog.New(slog.DiscardHandler))
	tries, reached, answer := 0, make(chan struct{}), make(chan error)
	m := &making{Making: local.Making{Order: local.Order{ID: id}}}
	m.undoContainer(func() error { tries++; reached <- struct{}{}; return <-answer })
	left.keep(m)
	try := func() error { return left.RetryFor(id) }

	other := make(chan struct{})
	go func() { defer close(other); left.Retry() }()
	<-reached
	if err := try(); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Error("while it is being removed:", err)
	}
	answer <- errors.New("the engine is away")
	<-other
	go func() { <-reached; answer <- errors.New("the engine is away") }()
	if err := try(); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Error("while it may be there:", err)
	}
	go func() { <-reached; answer <- nil }()
	if err := try(); errors.Is(err, sandbox.ErrUnavailable) || len(left.left) != 0 || tries != 3 {
		t.Errorf("when it is gone: %v, with %d left, at try %d", err, len(left.left), tries)
	}
}
