package local

import (
	"context"
	"errors"
	"testing"

	"torno/sandbox"
)

// TestAnEndThatIsKnownCounts: Wait returns a known end also when its context is done.
func TestAnEndThatIsKnownCounts(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e := NewEnded()
	if _, err := e.Wait(over); !errors.Is(err, context.Canceled) {
		t.Errorf("before the end: %v", err)
	}
	e.Set(sandbox.Exit{Code: 7}, nil)
	if exit, err := e.Wait(over); exit.Code != 7 || err != nil || e.Err() != nil {
		t.Errorf("after it: %+v, %v", exit, err)
	}
}
