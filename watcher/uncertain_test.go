package watcher

import (
	"fmt"
	"testing"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// TestASandboxThatMayHaveBegunIsMadeAnew: the launcher does not answer to a start, and does not know afterwards what it did. What
// it may have started holds, and is removed.
func TestASandboxThatMayHaveBegunIsMadeAnew(t *testing.T) {
	d := newDesk(t, nil)
	d.world.Fail(sandboxtest.OpStart, 1, errAway)
	d.world.Fail(sandboxtest.OpStart, 2, fmt.Errorf("in the way: %w", sandbox.ErrUncertain))
	resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if all := d.world.Sandboxes(); len(all) != 2 || len(d.world.Released()) != 1 || resp.Attempt != 1 {
		t.Errorf("%d sandboxes were made and %d released, in attempt %d", len(all), len(d.world.Released()), resp.Attempt)
	}
	d.onceEach()
	d.empty()
}

// TestWhatMayHaveRunIsNotStartedAgain: the word to init may have reached it or not.
func TestWhatMayHaveRunIsNotStartedAgain(t *testing.T) {
	for attempts, want := range map[int]delegation.Reason{1: delegation.ReasonLost, 2: delegation.ReasonExited} {
		t.Run(fmt.Sprint("attempts ", attempts), func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = attempts })
			d.world.Fail(sandboxtest.OpRelease, 1, errAway)
			resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
			if resp.Reason != want || resp.Attempt != attempts {
				t.Errorf("it ended as %s in attempt %d, want %s in %d: %s", resp.Reason, resp.Attempt, want, attempts, resp.StderrTail)
			}
			if all := d.world.Sandboxes(); len(all) != attempts {
				t.Errorf("%d sandboxes were made", len(all))
			}
			d.onceEach()
			d.empty()
			runs, err := d.journal.List(t0(), journal.Query{})
			d.must(err)
			for _, r := range runs {
				if r.Ended.Before(r.Created) {
					t.Errorf("attempt %d began at %s and ended at %s", r.Attempt, r.Created, r.Ended)
				}
			}
		})
	}
}
