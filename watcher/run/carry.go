package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
)

// How long each step of a run may take before it has failed.
const (
	createBudget = 2 * time.Minute  // an image may have to be fetched
	startBudget  = time.Minute      // until init's started line
	callBudget   = time.Minute      // for every other call of a launcher
	beginBudget  = 2 * time.Second  // for a run that is to end although init has not said a word
	holdTries    = 5                // so many sandboxes may end in their hold, one after the other
	drainBudget  = 10 * time.Second // for the last output of a sandbox that has ended
	pollEvery    = 500 * time.Millisecond
)

// runToEnd carries a run from its place to its end. It is the whole life of the run's goroutine. A watcher that stops working
// in the middle leaves the run as it is: the next one takes it up from the journal and the launcher's list.
func (runs *Runs) runToEnd(r *Run) {
	defer r.letWorkspaceGo()
	v := runs.launchAndFollow(r)
	if v.reason != "" && runs.Life.Err() == nil && (!r.dead || !r.mayHaveRun(v)) {
		runs.remove(r) // dead before it is said, and gone before it is attempted again
		if reason := r.Cause(); reason != "" && r.handle.ID == "" && !r.final {
			v = verdict{reason: reason} // somebody wanted the end before it went wrong
		}
	}
	if v.reason == "" || runs.Life.Err() != nil {
		runs.leaveToNext(r)
		return
	}
	if runs.attemptAgain(r, v) {
		runs.disown(r)
		runs.Schedule.Finished(runs.Life, &r.ticket)
		return
	}
	more := runs.inspect(r, v.reason)
	runs.claims.hold(r, nil)
	runs.Schedule.Leave(runs.Life, &r.ticket)
	if runs.conclude(r, v) {
		runs.remove(r)
		runs.countLeft(r)
		if more {
			runs.inspectRest(r)
		}
	}
	runs.Schedule.Finished(runs.Life, &r.ticket)
}

// mayHaveRun says whether a run has an end that its agent may have come to. What was lost, or not launched, may be attempted again.
func (r *Run) mayHaveRun(v verdict) bool {
	return r.Standing().Released && v.reason != delegation.ReasonLost && v.reason != delegation.ReasonLaunchFailed
}

// leaveToNext leaves a run as it is when the watcher stops working: without an answer, and its record as it stands. The next
// watcher adopts what was released. A sandbox of which nothing ran it makes anew, so this one can be removed.
func (runs *Runs) leaveToNext(r *Run) {
	mayRun := r.releasing || r.Standing().Released
	if !mayRun && !runs.Keeps() {
		runs.remove(r)
	}
	if !r.dead {
		runs.countLeft(r)
	}
	runs.disown(r)
}

// countLeft counts a sandbox that is left when the watcher stops working.
func (runs *Runs) countLeft(r *Run) {
	if r.handle.ID != "" {
		runs.Removals.CountLeft(1)
	}
}

// launchAndFollow launches and follows the run's sandbox, and says how it ended. The verdict is empty when the watcher stops working
// first.
//
// A sandbox that ends in its hold ran nothing. It is removed, and another one is made for the same attempt.
func (runs *Runs) launchAndFollow(r *Run) verdict {
	r.times.dequeued = time.Now()
	runs.holdWorkspace(r)
	if r.Standing().Released {
		runs.claims.hold(r, r.held)
		return runs.goOn(r)
	}
	for try := 1; ; try++ {
		v, broken := runs.launch(r)
		if broken == nil {
			return v
		}
		if runs.Life.Err() != nil {
			return verdict{}
		}
		if try == holdTries {
			return failed(delegation.CodeLaunch, fmt.Errorf("it ended %d times before it was released: %w", try, broken))
		}
		retry.Warn(runs.Log, "hold a sandbox", try, broken)
		runs.remove(r)
		r.out.Begin()
		r.out.Live.Note() // a place in the output of that sandbox is none in the next one's
		runs.calls.pause(r.ending, retry.Backoff(try))
	}
}

// goOn follows the sandbox of a run that was adopted. One that was released and never began is an earlier version's, and may
// have run all the same.
func (runs *Runs) goOn(r *Run) verdict {
	if why := r.Stranded(); why != "" {
		if v, back := runs.awaitSite(r, errors.New(why)); !back {
			return v
		}
	}
	if v, ok := r.proveWorkspace(); !ok {
		return v
	}
	if r.handle.State == sandbox.HandleCreated {
		return lost(sandbox.ErrUncertain)
	}
	v, _ := runs.follow(r)
	return v
}

// launch makes a sandbox, starts it and follows it. Where it ended in its hold, broken says how.
func (runs *Runs) launch(r *Run) (v verdict, broken error) {
	if v, ok := runs.prepare(r); !ok {
		return v, nil
	}
	if v, ok := r.proveWorkspace(); !ok {
		return v, nil
	}
	if reason := r.Cause(); reason != "" {
		return verdict{reason: reason}, nil
	}
	if v, broken, ok := runs.start(r); !ok {
		return v, broken
	}
	return runs.follow(r)
}

// prepare brings a run from the queue to a sandbox of which nothing runs.
func (runs *Runs) prepare(r *Run) (verdict, bool) {
	runs.Removals.await(r.hash, r.ending)
	if reason := r.client.Check(); reason != "" {
		r.End(reason)
	}
	if reason := r.Cause(); reason != "" {
		return verdict{reason: reason}, false
	}
	if v, ok := runs.claimWorkspace(r); !ok {
		return v, false
	}
	if v, ok := runs.findRoom(r); !ok {
		return v, false
	}
	if v, ok := runs.afterJournal(r, runs.bind(r)); !ok {
		return v, false
	}
	return runs.create(r)
}

// bind gives the run a sandbox that is new, before it is made, so that the journal knows whose it is.
func (runs *Runs) bind(r *Run) error {
	r.sandbox = sandbox.NewSandboxID()
	if r.Standing().State == delegation.StateQueued {
		return runs.moveTo(r.ending, r, delegation.StateStarting, journal.Change{Sandbox: r.sandbox})
	}
	return runs.calls.record(r.ending, "bind a sandbox to a run", func() error {
		crash.At("launch.bound")
		return runs.Journal.Bind(runs.Life, r.hash, r.sandbox)
	})
}

// create makes the sandbox. A cancel lets the launcher have some time to get it done.
func (runs *Runs) create(r *Run) (verdict, bool) {
	if runs.calls.launches.Full(r.request.Outbox) {
		return runs.leftBehind(r, "create the sandbox"), false // this call would hang as well
	}
	launcher, id := r.launcher, r.sandbox
	handle, err := insist(runs.calls, r, launchStep[sandbox.Handle]{
		what: "create the sandbox", budget: createBudget,
		call: func(ctx context.Context) (sandbox.Handle, error) {
			crash.At("launch.created")
			return launcher.Create(ctx, id, r.spec)
		},
		late: func(h sandbox.Handle, err error) { runs.Removals.removeCreated(launcher, id, h, err) },
	})
	var refusal *delegation.Refusal
	switch {
	case errors.Is(err, errLeftCall):
		return runs.leftBehind(r, "create the sandbox"), false
	case errors.As(err, &refusal):
		return verdict{reason: delegation.ReasonRefused, refusal: r.inFull(refusal)}, false
	case err != nil:
		r.handle = runs.Removals.find(launcher, id)
		return failed(delegation.CodeLaunch, fmt.Errorf("create the sandbox: %w", err)), false
	}
	handle.Launcher, handle.Workspace = r.launcherName, r.workspace // as profiles call it
	if r.held != nil {
		handle.Above = r.held.AboveThen
	}
	r.handle, r.times.created = handle, time.Now()
	return verdict{}, true
}

// inFull adds what every launcher lacks, where none enforces what the profile demands.
func (r *Run) inFull(refusal *delegation.Refusal) *delegation.Refusal {
	if refusal.Code != delegation.CodeNotEnforced || r.request.Chosen == "" {
		return refusal
	}
	full := *refusal
	full.Text = strings.TrimSuffix(full.Text, ".") + " (" + r.request.Chosen + ")"
	return &full
}

// afterJournal is what becomes of a run when the journal was asked to take a step of it, which did not happen with an error.
func (runs *Runs) afterJournal(r *Run, err error) (verdict, bool) {
	if reason := r.Cause(); err != nil && reason != "" {
		return verdict{reason: reason}, false
	}
	if err != nil {
		return failed(delegation.CodeInternal, err), false
	}
	return verdict{}, true
}

// start lets init begin. Where it is uncertain whether it did, nothing of the agent ran, and another sandbox is made.
func (runs *Runs) start(r *Run) (v verdict, broken error, ok bool) {
	launcher, h := r.launcher, r.handle
	_, err := insist(runs.calls, r, launchStep[struct{}]{
		what: "start the sandbox", budget: startBudget,
		call: func(ctx context.Context) (struct{}, error) {
			crash.At("launch.started")
			return struct{}{}, launcher.Start(ctx, h)
		},
		late: func(struct{}, error) { runs.Removals.removeLeft(launcher, h) },
	})
	switch {
	case errors.Is(err, errLeftCall):
		return runs.leftBehind(r, "start the sandbox"), nil, false
	case errors.Is(err, sandbox.ErrUncertain), errors.Is(err, sandbox.ErrNotFound):
		v, broken = r.brokenHold(err)
		return v, broken, false
	case err != nil:
		return failed(delegation.CodeLaunch, fmt.Errorf("start the sandbox: %w", err)), nil, false
	}
	return verdict{}, nil, true
}

// move moves the run in the journal, and shows it.
func (runs *Runs) move(r *Run, to delegation.State, change journal.Change) error {
	crash.At("move." + string(to))
	if err := runs.Journal.Move(runs.Life, r.hash, r.Standing().State, to, change); err != nil {
		return err
	}
	r.moved(to, change.Reason)
	return nil
}

// moveTo is move until the journal takes it.
func (runs *Runs) moveTo(until context.Context, r *Run, to delegation.State, change journal.Change) error {
	return runs.calls.record(until, "move a run to "+string(to), func() error { return runs.tryMove(r, to, change) })
}

// tryMove is move once. A move can be made although its call failed, so the journal is asked where the run stands.
func (runs *Runs) tryMove(r *Run, to delegation.State, change journal.Change) error {
	err := runs.move(r, to, change)
	if err == nil {
		return nil
	}
	known, unknown := runs.Journal.Get(runs.Life, r.hash)
	if unknown != nil || known.State == r.Standing().State {
		return err
	}
	r.moved(known.State, known.Reason)
	if known.State == to {
		return nil
	}
	return runs.move(r, to, change)
}

// moved shows what the journal has of the run.
func (r *Run) moved(to delegation.State, reason delegation.Reason) {
	r.change(func(s *Standing) { s.State, s.Reason, s.Position = to, reason, 0 })
}
