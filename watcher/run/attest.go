package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/sandbox"
)

var (
	errBrokenHold = errors.New("the sandbox ended before it was released")
	errWordless   = errors.New("the watcher's attachment cannot release the sandbox")
)

// brokenHold returns the outcome of a run whose sandbox broke before it was released: another sandbox is made, unless
// the run is to end.
func (r *Run) brokenHold(err error) *outcome {
	if reason := r.Cause(); reason != "" {
		return endedFor(reason)
	}
	return broke(err)
}

// release waits until init holds, has the host attest the sandbox, writes down that the agent may run, and gives the
// word. The journal knows of the release before init does.
func (a *attendance) release() error {
	if err := a.awaitHold(); err != nil {
		return err
	}
	seen, err := a.attest()
	if err != nil {
		return err
	}
	select {
	case <-a.exited: // without this attachment init may hold for ever, and no other process can give it the word
		return a.endedInHold()
	default:
	}
	if o := a.r.attested(seen); o != nil {
		return o
	}
	if !a.att.Holds() { // check before the journal's note: after it the run would be lost
		return a.r.brokenHold(errWordless)
	}
	if o := a.r.step(Releasing); o != nil {
		return o
	}
	crash.At("launch.released")
	o := a.r.afterJournal(a.r.runs.calls.record(a.r.ending, "note the release of a run", func() error {
		return a.r.runs.Journal.Release(a.r.runs.Life, a.r.hash, a.r.handle, a.r.times.created, seen, a.r.spec.Terms())
	}))
	if o != nil {
		return o
	}
	a.r.release = releaseNow(a.r.runs.Clock)
	a.r.begun()
	if o := a.r.step(Released); o != nil {
		return o
	}
	crash.At("launch.word")
	if err := a.r.runs.calls.once(a.held, a.att.Release); err != nil {
		return a.r.vanished(fmt.Errorf("it is unknown whether init received the word to start: %w", err))
	}
	return nil
}

// endedInHold returns the outcome of a run whose first attachment ended before the release.
func (a *attendance) endedInHold() error {
	broken := errBrokenHold
	if a.err != nil {
		broken = a.err
	}
	return a.r.brokenHold(broken)
}

// awaitHold waits until init says that it holds.
func (a *attendance) awaitHold() error {
	limit := time.NewTimer(startBudget)
	defer limit.Stop()
	select {
	case <-a.holding:
		return nil
	case <-a.exited:
		return a.endedInHold()
	case <-a.r.ending.Done():
		return endedFor(a.r.Cause())
	case <-a.ctx.Done():
		return a.ctx.Err()
	case <-limit.C:
		return failed(delegation.CodeLaunch, errors.New("init did not begin in time"))
	}
}

// attest has the host look at the sandbox. A sandbox that differs from its Spec never runs.
func (a *attendance) attest() (seen sandbox.Attestation, err error) {
	launcher, h := a.r.launcher, a.r.handle
	seen, err = retryLaunch(a.r.runs.calls, a.r.Run, launchStep[sandbox.Attestation]{
		what: "attest a sandbox", budget: callBudget,
		call: func(ctx context.Context) (sandbox.Attestation, error) {
			crash.At("launch.attested")
			return launcher.Attest(ctx, h)
		},
		late: func(sandbox.Attestation, error) { a.r.runs.Removals.removeLeft(launcher, h) },
	})
	if errors.Is(err, errLeftCall) {
		return seen, a.r.gaveUpCall("attest the sandbox")
	}
	var different *sandbox.DifferenceError
	switch reason := a.r.Cause(); {
	case reason != "":
		return seen, endedFor(reason)
	case err == nil:
		return seen, nil
	case errors.As(err, &different):
		a.r.log.Error("a sandbox differs from its specification; it is removed", "run", a.r.hash, "differences", different)
		return seen, failed(delegation.CodeAttestation, err)
	case errors.Is(err, sandbox.ErrNotHeld), errors.Is(err, sandbox.ErrNotFound):
		return seen, broke(err)
	}
	return seen, failed(delegation.CodeAttestation, fmt.Errorf("the host cannot look at it: %w", err))
}
