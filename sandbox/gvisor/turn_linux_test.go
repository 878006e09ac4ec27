package gvisor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestAStartThatHangsGivesItsTurnBack: a keeper that does not come up keeps no other sandbox from starting.
func TestAStartThatHangsGivesItsTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Launcher{turns: make(chan struct{}, 1)}
		hung, err := l.takeTurn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), turnTime-time.Millisecond)
		defer cancel()
		if _, err := l.takeTurn(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two have the only turn: %v", err)
		}
		later, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		defer cancel()
		next, err := l.takeTurn(later)
		if err != nil {
			t.Fatalf("the turn of a start that hangs: %v", err)
		}
		hung() // it ends at last, and gives back nothing that is another's
		if len(l.turns) != 1 {
			t.Errorf("%d turns are taken", len(l.turns))
		}
		next()
		if len(l.turns) != 0 {
			t.Errorf("%d turns are taken at the end", len(l.turns))
		}
	})
}
