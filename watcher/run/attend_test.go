package run

import (
	"context"
	"fmt"
	"os"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/output"
)

// TestWhoLeavesBeginsNoEnd: a second signal that comes when the watcher has left its runs to the next one ends no run.
func TestWhoLeavesBeginsNoEnd(t *testing.T) {
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for left, want := range map[bool]delegation.Reason{false: delegation.ReasonShutdown, true: ""} {
		runs := runsOf(t)
		runs.Notes = output.NewNotes(dir)
		r := &runner{Run: &Run{runs: runs, hash: fmt.Sprint("left ", left), hurry: make(chan struct{})}}
		r.ending, r.stop = context.WithCancelCause(t.Context())
		a := &attendance{r: r, att: docile{}, began: make(chan struct{}), exited: make(chan struct{})}
		a.ctx, a.leave = context.WithCancel(runs.Life)
		close(a.began)
		r.EndNow(delegation.ReasonShutdown)
		if left {
			a.leave()
		} else {
			close(a.exited)
		}
		a.kill()
		if e := runs.endingOf(r.hash); e.Reason != want {
			t.Errorf("left: %t; the next watcher ends it as %q", left, e.Reason)
		}
		a.leave()
	}
}

// docile is a sandbox that takes every signal.
type docile struct{ sandbox.Attachment }

func (docile) Signal(context.Context, sandbox.Signal) error { return nil }
