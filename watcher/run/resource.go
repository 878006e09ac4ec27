package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/retry"
	"torno/sandbox"
)

// Resource is something that a run has beside its sandbox, from before the sandbox is made until it is gone. It is known by the
// sandbox's id, which the journal has before anything is acquired: a next watcher lets go of what this one acquired. Every call is
// repeatable, and does nothing for a sandbox that needs nothing.
type Resource interface {
	// Ready says whether Acquire may succeed now. It is asked when Acquire has failed, while the run has no place in the schedule.
	Ready(context.Context, Holder) error
	// Acquire gets it, and adds to the holder's Spec what the sandbox is to have of it. A *delegation.Refusal ends the run.
	Acquire(context.Context, *Holder) error
	// Attested tells it what the host saw of the finished sandbox, before its agent runs. A *delegation.Refusal ends the run; with
	// ErrGone another sandbox is made, with a resource of its own.
	Attested(context.Context, Holder, sandbox.Attestation) error
	// End is for when the agent's last process is gone, before the run is answered. It says what the run used.
	End(context.Context, Holder) (Used, error)
	// Release lets go of it, when the sandbox is gone or was never made.
	Release(context.Context, sandbox.SandboxID) error
}

// ErrGone says that what was acquired is not there any more.
var ErrGone = errors.New("what the sandbox was made with is gone")

// Holder is the run that has a resource.
type Holder struct {
	Sandbox sandbox.SandboxID
	Key     sandbox.RunKey
	Spec    sandbox.Spec
}

// Used is what a run used of a resource.
type Used struct {
	Model   *delegation.ModelUsage // nil where it has no model
	Refused int64                  // requests to the model that its budget did not allow
	Session string                 // with which a later run goes on; "" where none is kept
	// Warnings are for the response.
	Warnings []string
}

const (
	// acquireBudget is how long a call may take for which a run keeps its place in the schedule.
	acquireBudget = 10 * time.Second
	// resourceBudget is how long a resource may take for what the run does not wait for: it lets go of itself in the end.
	resourceBudget = 5 * time.Second
)

// acquire gets the run's resources. What cannot be had now is waited for, until the run is to end.
func (r *runner) acquire() *outcome {
	r.holder = Holder{Sandbox: r.sandbox, Key: r.key, Spec: r.spec}
	for _, resource := range r.runs.Resources {
		err := r.untilHad(func(ctx context.Context) error {
			crash.At("resource.acquired")
			return resource.Acquire(ctx, &r.holder)
		}, func(try int) { r.waitOutside(resource, try) })
		var refusal *delegation.Refusal
		switch reason := r.Cause(); {
		case err == nil:
		case reason != "":
			return endedFor(reason)
		case errors.As(err, &refusal):
			return turnedDown(refusal)
		default:
			return failed(delegation.CodeLaunch, err)
		}
	}
	return nil
}

// turnedDown ends a run that cannot have a resource: because of what its request says, or because the host cannot give it.
func turnedDown(refusal *delegation.Refusal) *outcome {
	if refusal.Code == delegation.CodeLaunch {
		return ended(verdict{reason: delegation.ReasonLaunchFailed, refusal: refusal})
	}
	return ended(verdict{reason: delegation.ReasonRefused, refusal: refusal})
}

// attested tells the run's resources what the host saw.
func (r *runner) attested(seen sandbox.Attestation) *outcome {
	for _, resource := range r.runs.Resources {
		err := r.untilHad(func(ctx context.Context) error {
			crash.At("resource.attested")
			return resource.Attested(ctx, r.holder, seen)
		}, func(try int) { r.runs.calls.pause(r.ending, retry.Backoff(try)) })
		if reason := r.Cause(); err != nil && reason != "" {
			return endedFor(reason)
		}
		if refusal, ok := errors.AsType[*delegation.Refusal](err); ok {
			return ended(verdict{reason: delegation.ReasonLaunchFailed, refusal: refusal})
		}
		if errors.Is(err, ErrGone) {
			return broke(err)
		}
		if err != nil {
			return failed(delegation.CodeLaunch, err)
		}
	}
	return nil
}

// waitOutside waits, without a place in the schedule, until a resource may be had, or the run is to end: other runs go on meanwhile.
func (r *runner) waitOutside(resource Resource, try int) {
	r.runs.Schedule.GiveBack(r.runs.Life, &r.ticket)
	for ; ; try++ {
		r.runs.calls.pause(r.ending, retry.Backoff(try))
		if r.ending.Err() != nil || r.runs.Life.Err() != nil || r.isReady(resource) {
			break
		}
	}
	select {
	case <-r.runs.Schedule.TakeBack(r.runs.Life, &r.ticket):
	case <-r.ending.Done():
		r.runs.Schedule.ComeBack(r.runs.Life, &r.ticket)
	case <-r.runs.Life.Done():
	}
}

func (r *runner) isReady(resource Resource) bool {
	ctx, cancel := context.WithTimeout(r.ending, acquireBudget)
	defer cancel()
	defer context.AfterFunc(r.runs.Life, cancel)()
	return resource.Ready(ctx, r.holder) == nil
}

// untilHad makes a call of a resource again until it is done, is refused, or the run is to end. Then it waits for no answer: what the
// call may have acquired is let go of by the sandbox's id.
func (r *runner) untilHad(call func(context.Context) error, wait func(try int)) error {
	held := r.runs.Notices.FlagOf(r.request.Outbox, r.key.Subagent)
	defer held.Close()
	var refusal *delegation.Refusal
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(r.ending, acquireBudget)
		stop := context.AfterFunc(r.runs.Life, cancel)
		err := call(ctx)
		stop()
		cancel()
		if err == nil || errors.As(err, &refusal) || errors.Is(err, ErrGone) || r.ending.Err() != nil || r.runs.Life.Err() != nil {
			return err
		}
		held.Raise(delegation.NoticeGateway, err)
		retry.Warn(r.log, "get what a run needs", try, err)
		wait(try)
	}
}

// endResources ends the use of the run's resources, now that its last process is gone. A resource that does not answer does not
// hold the answer up. A run whose agent never had the word has used nothing, unless an earlier attempt has.
func (r *runner) endResources(v *verdict) {
	if !r.Standing().Phase.mayHaveAgent() && r.key.Attempt == 1 {
		r.runs.Removals.Release(r.sandbox)
		return
	}
	holder := Holder{Sandbox: r.sandbox, Key: r.key, Spec: r.spec}
	for _, resource := range r.runs.Resources {
		ctx, cancel := context.WithTimeout(r.runs.Life, resourceBudget)
		crash.At("resource.ended")
		used, err := resource.End(ctx, holder)
		cancel()
		if err != nil {
			r.log.Warn("what a run has spent is not known", "run", r.hash, "error", err)
			r.warnings = append(r.warnings, "What the run has spent on its model is not known: the gateway did not answer.")
		}
		if used.Model != nil {
			r.model = used.Model
		}
		r.session = cmp.Or(used.Session, r.session)
		r.warnings = append(r.warnings, used.Warnings...)
		r.noteRefused(v, used.Refused)
	}
}

// noteRefused says that a run was refused a model for its budget: if the agent then exited with an error, the budget counts as the reason.
func (r *runner) noteRefused(v *verdict, refused int64) {
	if refused == 0 {
		return
	}
	if v.reason == delegation.ReasonExited && v.exit.Code != 0 {
		v.reason = delegation.ReasonBudget
	}
	r.warnings = append(r.warnings, fmt.Sprintf("%d requests to the model were refused, because a budget is used up.", refused))
}

// Release lets go of what was acquired for a sandbox that is gone, or was never made. No run and no start waits for that. What cannot
// be let go of now is tried again until the watcher begins to stop.
func (m *Removals) Release(id sandbox.SandboxID) {
	if id == "" {
		return
	}
	for _, resource := range m.resources {
		m.work.Go(func() { m.release(resource, id) })
	}
}

// release lets go of one resource. With more than MaxLeftovers on their way none is tried again.
func (m *Removals) release(resource Resource, id sandbox.SandboxID) {
	m.releasing.Add(1)
	defer m.releasing.Add(-1)
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.life), resourceBudget)
		crash.At("resource.released")
		err := resource.Release(ctx, id)
		cancel()
		if err == nil {
			return
		}
		if m.leisure.Err() != nil || m.releasing.Load() > MaxLeftovers {
			m.log.Warn("something that a sandbox had is left; it ends by itself with the sandbox's time", "id", id, "error", err)
			return
		}
		retry.Warn(m.log, "let go of something that a sandbox had", try, err)
		m.calls.pause(m.leisure, retry.Backoff(try))
	}
}
