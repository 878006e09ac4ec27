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

// Resource is something that a run has beside its sandbox, from before the sandbox is made until it is gone. It is
// known by the sandbox's id. The journal has this id before anything is acquired, so the next watcher can let go of a
// resource that this watcher acquired. Every call can be repeated, and does nothing for a sandbox that needs nothing.
type Resource interface {
	// Ready returns nil if Acquire may succeed now. It is asked after Acquire has failed, while the run has no slot in
	// the schedule.
	Ready(context.Context, Holder) error
	// Acquire gets the resource, and adds to the holder's Spec the parts of it that the sandbox is to have. A
	// *delegation.Refusal ends the run.
	Acquire(context.Context, *Holder) error
	// Attested tells the resource how the host saw the finished sandbox, before the agent runs. A *delegation.Refusal
	// ends the run. After ErrGone another sandbox is made, with a resource of its own.
	Attested(context.Context, Holder, sandbox.Attestation) error
	// End ends the use, after the agent's last process is gone and before the run is answered. It returns how much the
	// run used. An attempt that was never given a sandbox has none to name: then an earlier attempt's use is returned.
	End(context.Context, Holder) (Used, error)
	// Release lets go of the resource when the sandbox is gone or was never made.
	Release(context.Context, sandbox.SandboxID) error
}

// ErrGone says that an acquired resource is not there any more.
var ErrGone = errors.New("a resource of the sandbox is gone")

// Holder is the run that has a resource.
type Holder struct {
	Sandbox sandbox.SandboxID
	Key     sandbox.RunKey
	Spec    sandbox.Spec
}

// Used says how much of a resource a run used.
type Used struct {
	Model   *delegation.ModelUsage // nil if the run has no model
	Refused int64                  // requests to the model that a budget did not allow
	Session string                 // for a later run to continue; "" if none is kept
	// Warnings are for the response.
	Warnings []string
}

const (
	// acquireBudget bounds a call during which the run keeps its slot in the schedule.
	acquireBudget = 10 * time.Second
	// resourceBudget bounds a call to end or release a resource. Nothing waits longer for it, because the resource ends
	// by itself in the end.
	resourceBudget = 5 * time.Second
)

// acquire gets the run's resources. It waits for a resource that cannot be had now, until the run is to end.
func (r *runner) acquire() *outcome {
	r.holder = Holder{Sandbox: r.sandbox, Key: r.key, Spec: r.spec}
	for _, resource := range r.runs.Resources {
		err := r.retryResource(func(ctx context.Context) error {
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

// turnedDown ends a run that cannot have a resource, because of its request or because the host cannot give it.
func turnedDown(refusal *delegation.Refusal) *outcome {
	if refusal.Code == delegation.CodeLaunch {
		return ended(verdict{reason: delegation.ReasonLaunchFailed, refusal: refusal})
	}
	return ended(verdict{reason: delegation.ReasonRefused, refusal: refusal})
}

// attested tells the run's resources how the host saw the sandbox.
func (r *runner) attested(seen sandbox.Attestation) *outcome {
	for _, resource := range r.runs.Resources {
		err := r.retryResource(func(ctx context.Context) error {
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

// waitOutside gives the run's slot back, so that other runs go on, and waits until a resource may be had or the run is
// to end. Then it takes a slot again.
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

// retryResource repeats a call to a resource until the call succeeds, is refused or returns ErrGone, or the run is to end.
// When the run is to end, retryResource waits for no answer: anything that the call may have acquired is let go later, by
// the sandbox's id.
func (r *runner) retryResource(call func(context.Context) error, wait func(try int)) error {
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
		retry.Warn(r.log, "get a resource for a run", try, err)
		wait(try)
	}
}

// endResources ends the use of the run's resources, after its last process is gone. A resource that does not answer
// does not hold up the answer. A run whose agent never had the word has used nothing, unless an earlier attempt has.
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
			r.log.Warn("it is not known how much a run has spent", "run", r.hash, "error", err)
			r.warnings = append(r.warnings, "It is not known how much the run has spent on its model: the gateway did not answer.")
		}
		if used.Model != nil {
			r.model = used.Model
		}
		r.session = cmp.Or(used.Session, r.session)
		r.warnings = append(r.warnings, used.Warnings...)
		r.noteRefused(v, used.Refused)
	}
}

// noteRefused warns that model requests of the run were refused because of a budget. If the agent then exited with an
// error, the budget counts as the reason.
func (r *runner) noteRefused(v *verdict, refused int64) {
	if refused == 0 {
		return
	}
	if v.reason == delegation.ReasonExited && v.exit.Code != 0 {
		v.reason = delegation.ReasonBudget
	}
	r.warnings = append(r.warnings, fmt.Sprintf("%d requests to the model were refused, because a budget is used up.", refused))
}

// Release lets go of everything that was acquired for a sandbox that is gone or was never made. No run and no start
// waits for it. If a resource cannot be let go now, Release tries again until the watcher begins to stop.
func (m *Removals) Release(id sandbox.SandboxID) {
	if id == "" {
		return
	}
	for _, resource := range m.resources {
		m.work.Go(func() { m.release(resource, id) })
	}
}

// release lets go of one resource. While more than MaxLeftovers releases are under way, a failed release is not tried
// again.
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
		if m.serving.Err() != nil || m.releasing.Load() > MaxLeftovers {
			m.log.Warn("a resource of a sandbox is left; it ends by itself with the sandbox's time", "id", id, "error", err)
			return
		}
		retry.Warn(m.log, "release a resource of a sandbox", try, err)
		m.calls.pause(m.serving, retry.Backoff(try))
	}
}
