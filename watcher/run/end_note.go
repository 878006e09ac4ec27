package run

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
)

// noteBudget is how long the journal may take to note why a run is being ended. After that the run is ended without the
// note: a disk that hangs keeps no agent alive.
const noteBudget = 5 * time.Second

// noteEnding notes in the journal why a run is about to be ended, and reports whether the run may be ended now. It may
// not if the watcher has stopped working meanwhile: without a note the next watcher would not know why it ended.
func (r *Run) noteEnding() bool {
	reason := r.Cause()
	err := callWithin(&r.runs.carried, noteBudget, func() error {
		crash.At("run.ending")
		return r.runs.Journal.NoteEnding(r.runs.Life, r.hash, journal.NewEnding(reason, r.whyEnded(reason)))
	})
	if err != nil && r.runs.Life.Err() != nil {
		return false
	}
	if err != nil {
		r.log.Error("the journal did not record why a run is being ended; the watcher ends it all the same", "run", r.hash, "reason", reason, "error", err)
	}
	return true
}

// callWithin makes a call, and waits for it no longer than the budget. A call that takes longer goes on, and work waits
// for it.
func callWithin(work *sync.WaitGroup, budget time.Duration, call func() error) error {
	done := make(chan error, 1)
	work.Go(func() { done <- call() })
	limit := time.NewTimer(budget)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
		return fmt.Errorf("no answer in %s", budget)
	}
}

// whyEnded returns the details of a reason, or nil if there are none.
func (r *Run) whyEnded(reason delegation.Reason) *delegation.Refusal {
	switch reason {
	case delegation.ReasonWorkspaceLimit:
		return r.tooMuch.Load()
	case delegation.ReasonLaunchFailed:
		return notStarted(errors.New("init did not answer in time"), sandbox.Exit{}).verdict.refusal
	}
	return nil
}

// resumeEnding ends a run that an earlier watcher was ending, for the same reason.
func (r *Run) resumeEnding(e journal.Ending) {
	if e.Reason == delegation.ReasonWorkspaceLimit {
		r.tooMuch.Store(e.Refusal())
	}
	r.End(e.Reason)
}
