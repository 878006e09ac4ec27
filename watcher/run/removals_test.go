package run

import (
	"context"
	"testing"
	"testing/synctest"

	"torno/sandbox"
)

// slowly is a launcher whose removals fail when their time is over.
type slowly struct{ sandbox.Launcher }

func (slowly) Remove(ctx context.Context, _ sandbox.Handle) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestARemovalThatWasSlowIsNotSaidForEver: its notice goes with the call, whether or not that has removed anything.
func TestARemovalThatWasSlowIsNotSaidForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := runsOf(t)
		said := 0
		runs.Notices.Changed = func() { said += len(runs.Notices.Of("main")) }
		runs.Removals.launchers = map[string]sandbox.Launcher{"slow": slowly{}}
		if err := runs.Removals.Once(sandbox.Handle{Launcher: "slow"}); err == nil {
			t.Error("it was removed")
		}
		if left := runs.Notices.Of("main"); said != 1 || len(left) != 0 {
			t.Errorf("said %d times, and still: %v", said, left)
		}
	})
}
