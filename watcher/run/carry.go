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

// How long each step of a run may take before it counts as failed.
const (
	createBudget = 2 * time.Minute  // an image may have to be fetched
	startBudget  = time.Minute      // until init's started line
	callBudget   = time.Minute      // for every other call of a launcher
	beginBudget  = 2 * time.Second  // for init to begin, before a run that must end is killed
	holdTries    = 5                // this many sandboxes in a row may end in their hold
	drainBudget  = 10 * time.Second // for the last output of a sandbox that has ended
	pollEvery    = 500 * time.Millisecond
)

// runToEnd carries a run from its slot to its end. It is the whole life of the run's goroutine. If the watcher stops
// working in the middle, the run is left as it is: the next watcher takes it up from the journal and the launcher's
// list.
func (r *runner) runToEnd() {
	defer r.workplace.close()
	o := r.launchAndFollow()
	v := o.verdict
	if o.kind == hasEnded && r.runs.Life.Err() == nil && (r.isAlive() || !r.mayHaveRun(v)) {
		r.remove() // dead before its end is told, and gone before it is attempted again
		if reason := r.Cause(); reason != "" && r.handle.ID == "" && !v.final {
			v = verdict{reason: reason} // somebody wanted the end before the run went wrong
		}
	}
	if o.kind == leftToNext || r.runs.Life.Err() != nil {
		r.leaveToNext()
		return
	}
	if r.attemptAgain(v) {
		r.runs.disown(r.Run)
		r.runs.Schedule.Finished(r.runs.Life, &r.ticket)
		return
	}
	var more bool
	if r.out.Started {
		var found []string
		found, more = r.workplace.inspect(v.reason)
		r.warnings = append(r.warnings, found...)
		r.findArtifacts()
	}
	r.endResources(&v)
	r.runs.claims.hold(r.Run, nil)
	r.runs.Schedule.Exited(r.runs.Life, &r.ticket)
	if r.conclude(v) {
		r.remove()
		r.countLeft()
		if more {
			r.workplace.inspectRest()
		}
		r.workplace.noteEnd()
	}
	r.runs.Schedule.Finished(r.runs.Life, &r.ticket)
}

// mayHaveRun reports whether the agent may have run before this end. Lost and never launched runs do not count: they
// may be attempted again.
func (r *runner) mayHaveRun(v verdict) bool {
	return r.Standing().Phase.IsReleased() && v.reason != delegation.ReasonLost && v.reason != delegation.ReasonLaunchFailed
}

// leaveToNext leaves a run as it is when the watcher stops working: the run gets no answer, and its record stays. The
// next watcher adopts released runs. If nothing can have run, the next watcher makes a new sandbox, so this sandbox can
// be removed.
func (r *runner) leaveToNext() {
	if !r.Standing().Phase.mayHaveAgent() && !r.runs.Keeps() {
		r.remove()
	}
	if r.isAlive() {
		r.countLeft()
	}
	r.runs.disown(r.Run)
}

// countLeft counts the run's sandbox, if it still exists, among the sandboxes that are left when the watcher stops
// working.
func (r *runner) countLeft() {
	if r.handle.ID != "" {
		r.runs.Removals.CountLeft(1)
	}
}

// launchAndFollow launches the run's sandbox and follows it to its end, or until the watcher stops working.
//
// A sandbox that ends in its hold ran nothing. It is removed, and another sandbox is made for the same attempt.
func (r *runner) launchAndFollow() *outcome {
	r.times.dequeued = time.Now()
	if o := r.copyWorkspace(); o != nil {
		return o
	}
	r.workplace.hold()
	if r.Standing().Phase.IsReleased() {
		r.runs.claims.hold(r.Run, r.workplace.held)
		return r.adopt()
	}
	for try := 1; ; try++ {
		o := r.launch(try > 1)
		if o.kind != brokeInHold {
			return o
		}
		if r.runs.Life.Err() != nil {
			return left()
		}
		if try == holdTries {
			return failed(delegation.CodeLaunch, fmt.Errorf("it ended %d times before it was released: %w", try, o.why))
		}
		retry.Warn(r.runs.Log, "hold a sandbox", try, o.why)
		r.remove()
		r.out.Begin()
		r.live.Note() // note the cleared cursor: the old cursor belongs to the old sandbox
		r.runs.calls.pause(r.ending, retry.Backoff(try))
	}
}

// adopt follows the sandbox of an adopted run. If the run was released but its sandbox never began, an earlier version
// made the sandbox, and it may have run all the same.
func (r *runner) adopt() *outcome {
	if why := r.Stranded(); why != "" {
		if o := r.awaitSite(errors.New(why)); o != nil {
			return o
		}
	}
	if o := r.workplace.prove(r.handle); o != nil {
		return o
	}
	if r.handle.State == sandbox.HandleCreated {
		return lost(sandbox.ErrUncertain)
	}
	return r.follow()
}

// launch makes a sandbox, starts it and follows it. again: an earlier sandbox of this attempt broke in its hold.
func (r *runner) launch(again bool) *outcome {
	if o := r.prepare(again); o != nil {
		return o
	}
	if o := r.workplace.prove(r.handle); o != nil {
		return o
	}
	if reason := r.Cause(); reason != "" {
		return endedFor(reason)
	}
	if o := r.start(); o != nil {
		return o
	}
	return r.follow()
}

// prepare brings a run from the queue to a sandbox that was made but not started.
func (r *runner) prepare(again bool) *outcome {
	r.runs.Removals.await(r.ending, r.hash)
	if reason := r.client.Check(); reason != "" {
		r.End(reason)
	}
	if reason := r.Cause(); reason != "" {
		return endedFor(reason)
	}
	if o := r.workplace.claim(); o != nil {
		return o
	}
	if o := r.workplace.findRoom(); o != nil {
		return o
	}
	r.workplace.noteBegin()
	if o := r.afterJournal(r.bind(again)); o != nil {
		return o
	}
	if o := r.acquire(); o != nil {
		r.runs.Removals.Release(r.sandbox)
		return o
	}
	return r.create()
}

// bind gives the run a sandbox id that no run had before. The journal records it before anything of the run comes near
// the sandbox, so that the journal knows whose sandbox it is.
func (r *runner) bind(again bool) error {
	r.runs.Removals.Release(r.sandbox) // an earlier sandbox was bound but not made, or is gone
	r.sandbox = r.claim(again)
	if r.Standing().Phase == Queued {
		return r.moveTo(r.ending, delegation.StateStarting, journal.Change{Sandbox: r.sandbox})
	}
	err := r.runs.calls.record(r.ending, "bind a sandbox to a run", func() error {
		crash.At("launch.bound")
		return r.runs.Journal.Bind(r.runs.Life, r.hash, r.sandbox)
	})
	if err == nil {
		err = r.enter(Bound, "")
	}
	return err
}

// step enters a phase that the journal need not know.
func (r *Run) step(to Phase) *outcome {
	if err := r.enter(to, ""); err != nil {
		return failed(delegation.CodeInternal, err)
	}
	return nil
}

// create makes the sandbox. After a cancel the launcher gets a little time to finish.
func (r *runner) create() *outcome {
	if r.runs.calls.launches.Full(r.request.Outbox) {
		return r.gaveUpCall("create the sandbox") // this call would hang as well
	}
	launcher, id, spec := r.launcher, r.sandbox, r.holder.Spec
	handle, err := retryLaunch(r.runs.calls, r.Run, launchStep[sandbox.Handle]{
		what: "create the sandbox", budget: createBudget,
		call: func(ctx context.Context) (sandbox.Handle, error) {
			crash.At("launch.created")
			return launcher.Create(ctx, id, spec)
		},
		late: func(h sandbox.Handle, err error) { r.runs.Removals.removeCreated(launcher, id, h, err) },
	})
	var refusal *delegation.Refusal
	switch {
	case errors.Is(err, errLeftCall):
		return r.gaveUpCall("create the sandbox")
	case errors.As(err, &refusal):
		return ended(verdict{reason: delegation.ReasonRefused, refusal: r.request.inFull(refusal)})
	case err != nil:
		r.handle = r.runs.Removals.find(launcher, id)
		return failed(delegation.CodeLaunch, fmt.Errorf("create the sandbox: %w", err))
	}
	handle.Launcher, handle.Workspace = r.launcherName, r.workspace // the launcher's name in profiles
	if r.workplace.held != nil {
		handle.Above = r.workplace.held.AboveThen
	}
	r.handle, r.times.created = handle, time.Now()
	r.holder.Spec.Files = r.spec.Files // drop the files that resources added: they may be large, and are in the sandbox now
	return r.step(Created)
}

// inFull completes a refusal that says that a demand of the profile cannot be enforced. It adds Chosen, which names the
// gaps of every launcher.
func (q Request) inFull(refusal *delegation.Refusal) *delegation.Refusal {
	if refusal.Code != delegation.CodeNotEnforced || q.Chosen == "" {
		return refusal
	}
	full := *refusal
	full.Text = strings.TrimSuffix(full.Text, ".") + " (" + q.Chosen + ")"
	return &full
}

// afterJournal returns the outcome of a run after the journal was asked to record a step. An error means that the step
// was not taken.
func (r *Run) afterJournal(err error) *outcome {
	if reason := r.Cause(); err != nil && reason != "" {
		return endedFor(reason)
	}
	if err != nil {
		return failed(delegation.CodeInternal, err)
	}
	return nil
}

// start lets init begin. If it is uncertain whether init began, nothing of the agent ran, and another sandbox is made.
func (r *runner) start() *outcome {
	if o := r.step(Holding); o != nil {
		return o
	}
	launcher, h := r.launcher, r.handle
	_, err := retryLaunch(r.runs.calls, r.Run, launchStep[struct{}]{
		what: "start the sandbox", budget: startBudget,
		call: func(ctx context.Context) (struct{}, error) {
			crash.At("launch.started")
			return struct{}{}, launcher.Start(ctx, h)
		},
		late: func(struct{}, error) { r.runs.Removals.removeLeft(launcher, h) },
	})
	switch {
	case errors.Is(err, errLeftCall):
		return r.gaveUpCall("start the sandbox")
	case errors.Is(err, sandbox.ErrUncertain), errors.Is(err, sandbox.ErrNotFound):
		return r.brokenHold(err)
	case err != nil:
		return failed(delegation.CodeLaunch, fmt.Errorf("start the sandbox: %w", err))
	}
	return nil
}

// move moves the run in the journal, and then shows the move.
func (r *Run) move(to delegation.State, change journal.Change) error {
	crash.At("move." + string(to))
	if err := r.runs.Journal.Move(r.runs.Life, r.hash, r.Standing().Phase.State(), to, change); err != nil {
		return err
	}
	return r.enter(phaseOf(to), change.Reason)
}

// moveTo repeats tryMove until the journal takes the move, or calls.record gives up.
func (r *Run) moveTo(until context.Context, to delegation.State, change journal.Change) error {
	return r.runs.calls.record(until, "move a run to "+string(to), func() error { return r.tryMove(to, change) })
}

// tryMove tries the move once. A move can be made although its call failed, so tryMove then asks the journal where the
// run stands.
func (r *Run) tryMove(to delegation.State, change journal.Change) error {
	err := r.move(to, change)
	if err == nil {
		return nil
	}
	known, unknown := r.runs.Journal.Get(r.runs.Life, r.hash)
	if unknown != nil || known.State == r.Standing().Phase.State() {
		return err
	}
	if err := r.enter(phaseOf(known.State), known.Reason); err != nil || known.State == to {
		return err
	}
	return r.move(to, change)
}
