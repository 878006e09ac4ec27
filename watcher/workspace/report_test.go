package workspace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneOutboxLooksAtOneRestAtATime, and pauses after it for as long as it took of a processor.
func TestOneOutboxLooksAtOneRestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewTurn()
		if !p.Begin(t.Context()) {
			t.Fatal("the first one has to wait")
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if p.Begin(soon) {
			t.Error("two look at once")
		}
		p.End(3 * time.Second)
		begin := time.Now()
		if !p.Begin(t.Context()) || time.Since(begin) != 3*time.Second {
			t.Errorf("the next one waited for %s", time.Since(begin))
		}
		p.End(time.Hour)
		soon, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if p.Begin(soon) {
			t.Error("it did not pause")
		}
	})
}
