package run

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
)

// TestWhoLeavesBeginsNoEnd: a second signal that comes when the watcher has left its runs to the next one ends no run.
func TestWhoLeavesBeginsNoEnd(t *testing.T) {
	for left, want := range map[bool]*journal.Ending{false: {Reason: delegation.ReasonShutdown}, true: nil} {
		a := attended(t)
		a.r.EndNow(delegation.ReasonShutdown)
		if left {
			a.leave()
		} else {
			close(a.exited)
		}
		a.kill()
		record, err := a.r.runs.Journal.Get(t.Context(), a.r.hash)
		if err != nil || !reflect.DeepEqual(record.Ending, want) {
			t.Errorf("left: %t; the next watcher reads %+v, %v", left, record.Ending, err)
		}
	}
}

// TestAJournalThatFailsKeepsNoAgentAlive: the note of why a run is being ended comes first, and is not waited for without an end.
func TestAJournalThatFailsKeepsNoAgentAlive(t *testing.T) {
	a := attended(t)
	if err := a.r.runs.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	a.r.EndNow(delegation.ReasonWorkspaceLimit)
	close(a.exited)
	a.kill()
	if got := a.att.(*docile).got; !slices.Equal(got, []sandbox.Signal{sandbox.Kill}) {
		t.Errorf("the sandbox got %v", got)
	}

	dying := attended(t)
	life, end := context.WithCancel(t.Context())
	dying.r.runs.Life = life
	end()
	dying.r.EndNow(delegation.ReasonOperator)
	if dying.r.noteEnding() {
		t.Error("a run is ended without a note although the next watcher could end it")
	}

	synctest.Test(t, func(t *testing.T) {
		var work sync.WaitGroup
		hangs := make(chan struct{})
		if err := callWithin(&work, noteBudget, func() error { <-hangs; return nil }); err == nil {
			t.Error("a call that hangs was done")
		}
		close(hangs)
		work.Wait()
	})
}

// attended is a run in the journal, with a sandbox that has begun.
func attended(t *testing.T) *attendance {
	t.Helper()
	runs := runsOf(t)
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "state", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	runs.Journal = j
	record := journal.Run{Outbox: "main", Attempt: 1, State: delegation.StateQueued}
	record.Subagent, err = delegation.ParseSubagentID("s1")
	if err == nil {
		record.Request, err = delegation.ParseRequestID("r1")
	}
	record.Key = record.RunKey().Hash()
	if err == nil {
		_, err = j.Begin(t.Context(), record)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{Run: &Run{runs: runs, hash: record.Key, hurry: make(chan struct{}), log: runs.Log}}
	r.ending, r.stop = context.WithCancelCause(t.Context())
	a := &attendance{r: r, att: &docile{}, began: make(chan struct{}), exited: make(chan struct{})}
	a.ctx, a.leave = context.WithCancel(runs.Life)
	t.Cleanup(a.leave)
	close(a.began)
	return a
}

// docile is a sandbox that takes every signal.
type docile struct {
	sandbox.Attachment
	got []sandbox.Signal
}

func (d *docile) Signal(_ context.Context, s sandbox.Signal) error {
	d.got = append(d.got, s)
	return nil
}
