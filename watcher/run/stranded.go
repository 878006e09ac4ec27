package run

import (
	"context"
	"time"

	"torno/delegation"
	"torno/internal/retry"
	"torno/sandbox"
)

// A run is stranded while its sandbox's site is out of reach, because another site answers in its place. The sandbox may run on, so the run
// is neither lost nor attempted again, and its workspace and its subagent stay taken. It goes on when its site is back. A cause
// to end it waits with it: its sandbox cannot be proved dead (I13). Only an operator gives it up, in so many words.

// strandedDetail is what the client of a stranded run reads.
const strandedDetail = "Stranded: another site answers in the place of this run's site. " +
	"The run goes on when that site is back, unless the operator gives it up."

// awaitSite waits until the site of a run's sandbox is back, the operator gives the run up, or the watcher stops: then the next one finds
// the run stranded again.
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
		case <-r.runs.Leisure.Done():
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
		r.End(delegation.ReasonOperator) // given up in the moment in which it came back: it can be ended now
	}
	return nil
}

// tellStranded tells the log, the operator and the client.
func (r *runner) tellStranded(why error) {
	r.runs.Schedule.SetAside(r.runs.Life, &r.ticket)
	r.log.Warn("a run is stranded: it waits for the site that has its sandbox", "run", r.hash, "subagent", r.key.Subagent,
		"site", r.handle.Site, "error", why)
	r.change(func(s *Standing) { s.Stranded = why.Error() })
}

// isBack says whether the launcher has the site of a run's sandbox, and looks how the sandbox is. A sandbox that its own site
// does not have is gone: the next Open says so.
func (r *runner) isBack() bool {
	ctx, cancel := context.WithTimeout(r.runs.Leisure, callBudget)
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

// endAbandoned ends a run that the operator gives up. Nothing is removed: what carries its id is found when its site is back.
func (r *runner) endAbandoned() *outcome {
	r.log.Warn("the operator gives a stranded run up; its sandbox may run on, and is removed when its site is back",
		"run", r.hash, "site", r.handle.Site, "sandbox", r.handle.ID)
	r.handle = sandbox.Handle{}
	return ended(verdict{reason: delegation.ReasonLost, refusal: GivenUp(), final: true})
}

// GivenUp is what the client of a run reads that the operator gives up.
func GivenUp() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeLost,
		Text: "The operator gave the run up: another site answers in the place of its own. Its sandbox may go on there, and go on writing into the workspace.",
		Hint: "Ask again with a new request_id, in another workspace if the earlier one must not be written by both.",
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

// Stranded says why the run's site cannot be reached, "" where it can.
func (r *Run) Stranded() string { return r.Standing().Stranded }

// GiveUp ends a stranded run without its sandbox, which may live on.
func (r *Run) GiveUp() {
	r.giveUp.Do(func() { close(r.abandoned) })
	if r.Stranded() == "" {
		r.End(delegation.ReasonOperator) // its site came back in this moment
	}
}
