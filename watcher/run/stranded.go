package run

import (
	"context"
	"time"

	"torno/delegation"
	"torno/internal/retry"
	"torno/sandbox"
)

// A run is stranded while its sandbox's site is out of reach because another site answers in its place. The sandbox may
// run on. So the run is neither lost nor attempted again, and its workspace and its subagent stay taken. The run goes
// on when its site is back. If there is a cause to end the run, the run still waits for its site, because its sandbox
// cannot be proved dead (I13). Only an operator can give the run up, and must say so explicitly.

// strandedDetail tells the client of a stranded run why it waits.
const strandedDetail = "Stranded: another site answers instead of this run's own site. " +
	"The run goes on when its own site is back, unless the operator gives it up."

// awaitSite waits until the site of a run's sandbox is back, the operator gives the run up, or the watcher stops. In
// the last case the next watcher finds the run stranded again.
func (r *runner) awaitSite(why error) *outcome {
	r.tellStranded(why)
	held := r.runs.Notices.Flag(r.request.Outbox)
	defer held.Close()
	held.Raise(delegation.NoticeStranded, why)
	for try := 1; ; try++ {
		timer := time.NewTimer(retry.Backoff(try))
		select {
		case <-timer.C:
		case <-r.abandoned:
			timer.Stop()
			return r.endAbandoned()
		case <-r.runs.Serving.Done():
			timer.Stop()
			return left()
		}
		if r.isBack() {
			break
		}
	}
	r.runs.Schedule.ComeBack(r.runs.Life, &r.ticket)
	r.log.Info("the site of a stranded run is back", "run", r.hash, "sandbox", r.handle.ID)
	r.change(func(s *Standing) { s.Stranded = "" })
	if r.isAbandoned() {
		r.End(delegation.ReasonOperator) // given up just when the site came back: now the run can be ended
	}
	return nil
}

// tellStranded takes the run's slot from it, and tells the log, the operator and the client.
func (r *runner) tellStranded(why error) {
	r.runs.Schedule.SetAside(r.runs.Life, &r.ticket)
	r.log.Warn("a run is stranded: it waits for the site that has its sandbox", "run", r.hash, "subagent", r.key.Subagent,
		"site", r.handle.Site, "error", why)
	r.change(func(s *Standing) { s.Stranded = why.Error() })
}

// isBack reports whether the launcher is on the site of the run's sandbox again. If so, it notes how the sandbox is. If
// this site does not have the sandbox, the sandbox is gone: the next Open says so.
func (r *runner) isBack() bool {
	ctx, cancel := context.WithTimeout(r.runs.Serving, callBudget)
	defer cancel()
	site, err := r.launcher.Site(ctx)
	if err != nil || r.handle.On(site) != nil {
		return false
	}
	all, err := r.launcher.List(ctx)
	if err != nil {
		return false
	}
	r.handle.State, r.handle.Exit = sandbox.HandleRunning, nil
	for _, h := range all {
		if h.Sandbox == r.sandbox {
			r.handle.State, r.handle.Exit = h.State, h.Exit
		}
	}
	return true
}

// endAbandoned ends a run that the operator gives up. It removes nothing: the sandbox carries its id, and is found when
// its site is back.
func (r *runner) endAbandoned() *outcome {
	r.log.Warn("the operator gives up a stranded run; its sandbox may still run, and the watcher removes it when its site is back",
		"run", r.hash, "site", r.handle.Site, "sandbox", r.handle.ID)
	r.handle = sandbox.Handle{}
	return ended(verdict{reason: delegation.ReasonLost, refusal: GivenUp(), final: true})
}

// GivenUp returns the text that the client reads when the operator gives its run up.
func GivenUp() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeLost,
		Text: "The operator gave up the run: another site answers instead of its own. On its own site the sandbox may go on running, and writing into the workspace.",
		Hint: "Ask again with a new request_id. Use another workspace if the two sandboxes must not write into the same one.",
	}
}

func (r *Run) isAbandoned() bool {
	select {
	case <-r.abandoned:
		return true
	default:
		return false
	}
}

// Stranded returns why the run's site cannot be reached, or "" if it can.
func (r *Run) Stranded() string { return r.Standing().Stranded }

// GiveUp ends a stranded run without its sandbox, which may live on.
func (r *Run) GiveUp() {
	r.giveUp.Do(func() { close(r.abandoned) })
	if r.Stranded() == "" {
		r.End(delegation.ReasonOperator) // its site came back just now
	}
}
