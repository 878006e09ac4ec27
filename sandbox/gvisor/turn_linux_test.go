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
		all := make(turns, 1)
		hung, err := all.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), turnTime-time.Millisecond)
		defer cancel()
		if _, err := all.take(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two have the only turn: %v", err)
		}
		later, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		defer cancel()
		next, err := all.take(later)
		if err != nil {
			t.Fatalf("the turn of a start that hangs: %v", err)
		}
		hung() // it ends at last, and gives back nothing that is another's
		if len(all) != 1 {
			t.Errorf("%d turns are taken", len(all))
		}
		next()
		if len(all) != 0 {
			t.Errorf("%d turns are taken at the end", len(all))
		}
	})
}
