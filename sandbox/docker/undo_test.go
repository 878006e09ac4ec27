package docker

import (
	"errors"
	"sync/atomic"
	"testing"

	"torno/sandbox"
)

// TestNobodyGetsWhatIsBeingUndone has one sandbox's Create undo what another's has left, and that other one try again
// meanwhile: it must not find the container which is on its way out, nor go on while it is not known whether there is one.
func TestNobodyGetsWhatIsBeingUndone(t *testing.T) {
	id := sandbox.NewSandboxID()
	l := (&fakeEngine{id: func(int) string { return "ABCD" }}).launch(t)
	tries, reached, answer := 0, make(chan struct{}), make(chan error)
	var unsure atomic.Bool
	unsure.Store(true)
	l.failed.Add(id, unsure.Load, func() error {
		tries++
		reached <- struct{}{}
		err := <-answer
		unsure.Store(err != nil)
		return err
	})
	try := func() error { _, err := l.Create(t.Context(), id, sandbox.Spec{}); return err }

	other := make(chan struct{})
	go func() { defer close(other); l.failed.Retry() }()
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
	if err := try(); errors.Is(err, sandbox.ErrUnavailable) || tries != 3 {
		t.Errorf("when it is gone: %v, at try %d", err, tries)
	}
}
