package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/runfile"
	"torno/sandbox"
)

// How long each step of a run may take before it has failed.
const (
	createBudget = 2 * time.Minute // an image may have to be fetched
	startBudget  = time.Minute     // until init's started line
	beginBudget  = 2 * time.Second // for a run that is to end although init has not said a word
	removeBudget = time.Minute
	drainBudget  = 10 * time.Second // for the last output of a sandbox that has ended
	killBudget   = 30 * time.Second // from the last signal to the end
	pollEvery    = 500 * time.Millisecond
	reopenTries  = 5
)

// live carries a run from its place to its end. It is the whole life of the run's goroutine.
func (w *Watcher) live(r *run) {
	v := w.carry(r)
	if v.reason == delegation.ReasonLost || v.reason == delegation.ReasonLaunchFailed {
		w.remove(r) // dead before it is said
		if reason := r.cause(); reason != "" && r.handle.ID == "" {
			v = verdict{reason: reason} // somebody wanted the end before it went wrong
		}
	}
	w.scheduler.leave(w.life, r)
	w.conclude(r, v)
	w.remove(r)
	w.scheduler.finished(w.life, r)
}

// carry creates, starts and follows the run's sandbox, and says how it ended.
func (w *Watcher) carry(r *run) verdict {
	r.times.dequeued = time.Now()
	if reason := r.box.check(r); reason != "" {
		r.end(reason)
	}
	if reason := r.cause(); reason != "" {
		return verdict{reason: reason}
	}
	if err := w.move(r, delegation.StateStarting, journal.Change{}); err != nil {
		return failed(delegation.CodeInternal, err)
	}
	if v, ok := w.create(r); !ok {
		return v
	}
	if reason := r.cause(); reason != "" {
		return verdict{reason: reason}
	}
	ctx, cancel := context.WithTimeout(w.life, startBudget)
	defer cancel()
	if err := r.launcher.Start(ctx, r.handle); err != nil {
		return failed(delegation.CodeLaunch, fmt.Errorf("start the sandbox: %w", err))
	}
	return w.follow(r)
}

// create makes the sandbox and puts its handle into the journal before anything of the run reaches it. A cancel does not
// cut the launcher off in the middle: what it is making could not be found again.
func (w *Watcher) create(r *run) (verdict, bool) {
	ctx, cancel := context.WithTimeout(w.life, createBudget)
	defer cancel()
	handle, err := r.launcher.Create(ctx, r.key, r.spec)
	var refusal *delegation.Refusal
	switch {
	case errors.As(err, &refusal):
		return verdict{reason: delegation.ReasonRefused, refusal: refusal}, false
	case err != nil:
		w.removeStray(r)
		return failed(delegation.CodeLaunch, fmt.Errorf("create the sandbox: %w", err)), false
	}
	r.handle, r.times.created = handle, time.Now()
	if err := w.journal.SetHandle(w.life, r.hash, handle); err != nil {
		return failed(delegation.CodeInternal, err), false
	}
	return verdict{}, true
}

// removeStray removes what a failed create may have left: the engine can succeed although the call failed.
func (w *Watcher) removeStray(r *run) {
	ctx, cancel := context.WithTimeout(w.life, removeBudget)
	defer cancel()
	handles, err := r.launcher.List(ctx)
	if err != nil {
		r.box.log.Warn("cannot look for what a failed launch left; the next start will", "run", r.hash, "error", err)
		return
	}
	for _, h := range handles {
		if h.Key == r.hash {
			r.handle = h
		}
	}
}

// follow watches a started sandbox until it has ended, attaching again when the connection breaks.
func (w *Watcher) follow(r *run) verdict {
	for try := 1; ; try++ {
		exit, err := w.attend(r)
		switch {
		case err == nil:
			return r.judge(exit)
		case errors.Is(err, sandbox.ErrNotFound), try == reopenTries, w.life.Err() != nil:
			return lost(err)
		}
		r.box.log.Warn("the connection to a sandbox broke; attaching again", "run", r.hash, "try", try, "error", err)
		w.pause(time.Duration(try) * time.Second)
	}
}

// judge says how a run ended from what the host saw. The first cause wins.
func (r *run) judge(exit sandbox.Exit) verdict {
	v := verdict{exit: exit}
	switch reason := r.cause(); {
	case reason != "":
		v.reason = reason
	case !r.out.started:
		return notStarted(r.out.failure, exit)
	case exit.OutOfMemory && exit.Code != 0:
		v.reason = delegation.ReasonOutOfMemory
	case exit.Code > 128 && exit.Code <= 128+64:
		v.reason = delegation.ReasonSignalled
	default:
		v.reason = delegation.ReasonExited
		if exit.OutOfMemory {
			r.warnings = append(r.warnings, "A process of the run was killed because the memory limit was reached.")
		}
	}
	return v
}

// notStarted explains a sandbox whose init never ran the agent: no exit code of it means anything.
func notStarted(why error, exit sandbox.Exit) verdict {
	if why == nil {
		why = fmt.Errorf("it ended with code %d before the agent was started", exit.Code)
	}
	code := delegation.CodeLaunch
	var said *runfile.NotStarted
	if errors.As(why, &said) && said.Failure == runfile.FailureMount {
		code = delegation.CodeMountProof
	}
	return verdict{reason: delegation.ReasonLaunchFailed, exit: exit, refusal: &delegation.Refusal{
		Code: code, Text: "The sandbox did not start: " + why.Error(), Hint: "The operator finds more with `watcher show` and `watcher check --try`.",
	}}
}

func failed(code delegation.Code, err error) verdict {
	return verdict{reason: delegation.ReasonLaunchFailed, refusal: &delegation.Refusal{
		Code: code, Text: "The sandbox could not be launched: " + err.Error(), Hint: "The operator finds more in the watcher's log.",
	}}
}

func lost(err error) verdict {
	return verdict{reason: delegation.ReasonLost, refusal: &delegation.Refusal{
		Code: delegation.CodeLost, Text: "The sandbox was lost: " + err.Error(), Hint: "Ask again with a new request_id.",
	}}
}

// remove removes the run's sandbox, if there is one. What cannot be removed carries the installation's id and is found at
// the next start.
func (w *Watcher) remove(r *run) {
	if r.handle.ID == "" {
		return
	}
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.life), removeBudget)
		err := r.launcher.Remove(ctx, r.handle)
		cancel()
		if err == nil || errors.Is(err, sandbox.ErrNotFound) {
			r.handle = sandbox.Handle{}
			return
		}
		if try == reopenTries || w.life.Err() != nil {
			r.box.log.Error("a sandbox cannot be removed; the next start will try again", "run", r.hash, "sandbox", r.handle.ID, "error", err)
			return
		}
		w.pause(time.Duration(try) * time.Second)
	}
}

// move moves the run in the journal and tells its client.
func (w *Watcher) move(r *run, to delegation.State, change journal.Change) error {
	if err := w.journal.Move(w.life, r.hash, r.state, to, change); err != nil {
		return err
	}
	r.state = to
	r.out.live.state(to, change.Reason)
	r.box.board.set(r, r.status(0, change.Reason))
	return nil
}

// pause waits unless the watcher stops working.
func (w *Watcher) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.life.Done():
	}
}
