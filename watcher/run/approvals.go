package run

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/approvals"
)

// newDesk returns the desk at which the questions of the run's agent are decided, by the policy as it is now. The run's
// clock stands still for no longer than the pause that init was given.
func (r *runner) newDesk() *approvals.Desk {
	return approvals.New(approvals.Ports{
		Run: r.hash, Policy: r.request.Spec.Approvals, Pause: r.spec.Pause(), Journal: r.runs.Journal, Life: r.runs.Life, Tell: r.live.Tell, Log: r.log,
	})
}

// takeAsk passes on a line of the agent's adapter about a question. A run that must end takes no more questions.
func (r *Run) takeAsk(l agent.Line) {
	if r.IsEnding() {
		r.desk.Shut()
	}
	r.desk.Take(l)
}

// Approvals returns the desk of the run's questions.
func (r *Run) Approvals() *approvals.Desk { return r.desk }

// begun starts the desk's clock, which is the clock of the run's deadline.
func (r *runner) begun() {
	released := r.release
	r.desk.Begin(released.passed, func(after time.Duration) time.Time { return released.wall.Add(after).UTC() })
}

// takeUpQuestions continues with the questions of an adopted run. If the journal does not tell them, the desk takes no
// more questions.
func (r *runner) takeUpQuestions(shown approvals.Shown) {
	r.begun()
	if err := r.desk.Load(r.runs.Life, shown); err != nil {
		r.log.Error("the watcher cannot read a run's questions from the journal; it approves nothing more for the run", "run", r.hash, "error", err)
		r.desk.Shut()
	}
	r.standing.now.Approvals = r.desk.Pending()
}

// allowed returns how long the run could take, up to a recorded end: its time, and the time for which its clock stood
// still.
func (r *runner) allowed(exit sandbox.Exit) time.Duration {
	ends := r.release.ends(exit)
	if len(ends) == 0 {
		return r.spec.Timeout
	}
	return r.spec.Timeout + r.desk.Paused(slices.Max(ends))
}

// noteWaiting shows which questions wait, and moves the run to Waiting or back to Running when its clock stops or goes
// on. If the journal does not take the move, the poll tries again.
func (a *attendance) noteWaiting() {
	r := a.r
	waiting := r.desk.Pending()
	now := r.Standing()
	if !slices.EqualFunc(waiting, now.Approvals, func(x, y delegation.PendingApproval) bool { return x.Digest == y.Digest && x.Approval == y.Approval }) {
		r.change(func(s *Standing) { s.Approvals = waiting })
	}
	to := Running
	if len(waiting) > 0 {
		to = Waiting
	}
	if now.Phase == to || now.Phase != Running && now.Phase != Waiting {
		return
	}
	if err := r.tryMove(to.State(), journal.Change{}); err != nil {
		r.log.Warn("the journal did not record that a run waits, or goes on; the watcher tries again", "run", r.hash, "to", to, "error", err)
	}
}

// sendDecisions writes the decisions that were not sent yet. A decision that could not be written is sent again later.
func (a *attendance) sendDecisions() {
	for _, decision := range a.r.desk.Due() {
		line, err := agent.EncodeDecision(decision)
		if err != nil {
			a.r.log.Error("a decision cannot be sent", "run", a.r.hash, "error", err)
			continue
		}
		crash.At("approval.sent")
		if _, err := a.att.Input().Write(line); err != nil {
			a.r.log.Debug("a sandbox did not take a decision; the next attachment sends it", "run", a.r.hash, "error", err)
			return
		}
	}
}

// closeDesk ends the run's questions, and warns of questions that came after the end.
func (r *runner) closeDesk() {
	late := r.desk.Close()
	r.standing.set(func(s *Standing) { s.Approvals = nil })
	if late > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf("The agent asked for approval %d times after its end; the watcher dropped these questions.", late))
	}
}

// decideByParent applies a decision that the parent has written. A decision may be read twice, if a watcher has died
// after the first time. done is false if the journal did not take the decision: then it is neither applied nor refused.
func (r *Run) decideByParent(in delegation.Input) (refusal *delegation.Refusal, done bool) {
	decision := approval.Decision{
		Number: in.Approval, Digest: in.Digest, Grant: in.Decision == delegation.Approve, Why: in.Text, By: approval.ByParent,
	}
	err := r.desk.Decide(decision)
	switch {
	case err == nil || r.inputs.resumed && r.desk.Was(decision):
		return nil, true
	case !approval.IsRefusal(err) && !errors.Is(err, journal.ErrDecided):
		r.log.Warn("the journal did not record a parent's decision; the watcher tries again", "run", r.hash, "approval", in.Approval, "error", err)
		return nil, false
	}
	return &delegation.Refusal{
		Code: delegation.CodeDecision, Text: fmt.Sprintf("The decision on approval %d was not accepted: %v", in.Approval, err),
		Hint: "see the waiting questions with subagent list --json, or in the status",
	}, true
}
