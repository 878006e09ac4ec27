package approvals

import (
	"fmt"
	"slices"
	"time"

	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/crash"
	"torno/internal/journal"
)

// Take takes a line of the adapter about a question.
func (d *Desk) Take(l agent.Line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch l.Kind {
	case agent.Ask:
		d.asked(l)
	case agent.AskTaken:
		d.taken(l)
	case agent.AskGone:
		d.withdrawn(l)
	}
}

// asked takes a question.
func (d *Desk) asked(l agent.Line) {
	arguments, err := approval.Canonical(l.Tool.Input)
	call := approval.Call{Tool: l.Tool.Name, Arguments: arguments}
	before := d.find(l.Ask)
	same := before != nil && call.Digest(before.Binding) == before.Digest
	now, known := d.now()
	switch {
	case d.closed.Load() && same: // it was read once more after the end, and is over
	case d.closed.Load() || !known:
		d.late++
	case err != nil:
		d.refuse(l.Ask, approval.Call{}, "its arguments cannot be read")
	case d.isRefused(l.Ask, call): // the agent repeated it before it had its denial
	case d.Policy == nil && !(same && d.isDenied(before)):
		d.refuse(l.Ask, call, "the run's profile has no approvals")
	case same:
		d.again(before, call)
	case before != nil:
		if !d.toldOfOther {
			d.toldOfOther = true
			d.Log.Warn("an agent used the name of an earlier question for another call; the watcher refuses the new question, and will not log the next ones", "run", d.Run, "approval", before.Number)
		}
		d.refuse(l.Ask, call, "an earlier question about another call has the same name")
	default:
		d.consider(l.Ask, call, now)
	}
}

// isDenied reports whether the agent may be told the decision on a question once more, in a run whose profile has no
// approvals any more. A question that the journal could not take as denied is tried again.
func (d *Desk) isDenied(before *journal.Asked) bool {
	d.endOthers()
	return before.Outcome != "" && before.Outcome != approval.Granted
}

// find returns the question with this name, or nil if there is none.
func (d *Desk) find(ask string) *journal.Asked {
	i := slices.IndexFunc(d.all, func(a journal.Asked) bool { return a.Ask == ask })
	if i < 0 {
		return nil
	}
	return &d.all[i]
}

// again takes a question that was read before.
func (d *Desk) again(before *journal.Asked, call approval.Call) {
	if d.unshown[before.Number] {
		delete(d.unshown, before.Number)
		d.Tell(d.askedEvent(before.Approval, call))
	}
	if d.untold[before.Number] {
		delete(d.untold, before.Number)
		d.Tell(d.decidedEvent(before.Approval))
	}
	if before.Outcome == "" {
		d.calls[before.Number] = call
		return
	}
	delete(d.sent, before.Number)
	before.Taken = false // an agent that asks again has no answer yet
	notify(d.ready)
}

// tooMany returns why the run may not ask another question now, or "" if it may.
func (d *Desk) tooMany(now time.Duration) string {
	pending := 0
	for i := range d.all {
		if d.all[i].Outcome == "" {
			pending++
		}
	}
	switch {
	case !d.meter.MayAsk(now):
		return "there were too many questions in a minute"
	case pending >= maxPending:
		return fmt.Sprintf("%d questions wait already", pending)
	case len(d.all) >= maxAsked+d.Policy.Rates.Calls, d.bytes >= maxBytes:
		return "the run has asked too often"
	}
	return ""
}

// consider checks a question against the policy, and notes it.
func (d *Desk) consider(ask string, call approval.Call, now time.Duration) {
	if why := d.tooMany(now); why != "" {
		d.refuse(ask, call, why)
		return
	}
	a := approval.Approval{
		Number: len(d.all) + 1, Ask: ask, Tool: call.Tool, Binding: d.binding(), Asked: now, Expires: now + d.Policy.Expires,
	}
	a.Digest = call.Digest(a.Binding)
	a.Preview, a.Cut = call.Preview()
	if outcome, why := d.judge(call, now); outcome != "" {
		a.End(outcome, approval.ByPolicy, why, now)
		a.Preview, a.Cut = "", false // nobody needs it for a decision; the events show the call
	}
	d.waits.note(a) // the clock stands still from now on, however long the journal takes
	crash.At("approval.asked")
	if err := d.Journal.Ask(d.Life, a); err != nil {
		d.waits.forget(a.Number)
		notify(d.changed) // the clock did not stop after all, so watch sets its alarm anew
		d.Log.Error("the journal did not record a question; the watcher denies it", "run", d.Run, "error", err)
		d.refuse(ask, call, "the journal cannot record it")
		return
	}
	d.all = append(d.all, journal.Asked{Approval: a})
	d.bytes += wordsOf(a)
	d.Tell(d.askedEvent(a, call))
	if a.Outcome != "" {
		d.decided(a)
		return
	}
	d.calls[a.Number] = call
	notify(d.changed)
}

// judge returns the policy's decision, or "" if others decide.
func (d *Desk) judge(call approval.Call, now time.Duration) (approval.Outcome, string) {
	policy := *d.Policy
	if d.revoked {
		policy.Allow = nil
	}
	policy.Allow = slices.Concat(policy.Allow, d.rules) // those from before a revocation are gone
	if now >= policy.TimeBox {
		policy.Allow = nil
	}
	switch policy.Judge(call) {
	case approval.Denied:
		return approval.Declined, "the policy denies it"
	case approval.Allowed:
		if why := d.meter.May(&policy, call, now); why != "" {
			return approval.Declined, why
		}
		return approval.Granted, ""
	}
	return "", ""
}

// refuse denies a question without a record of it.
func (d *Desk) refuse(ask string, call approval.Call, why string) {
	if len(d.denied) < maxDenied { // our own adapters do not ask so often without an answer
		bound := approval.Binding{Run: d.Run}
		d.denied = append(d.denied, agent.Decision{Ask: ask, Digest: call.Digest(bound), Run: d.Run, Why: why})
	}
	notify(d.ready)
}

// isRefused reports whether a question was denied without a record, and the agent does not have the denial yet.
// Desk.Again has the denial sent once more.
func (d *Desk) isRefused(ask string, call approval.Call) bool {
	digest := call.Digest(approval.Binding{Run: d.Run})
	return slices.ContainsFunc(d.denied, func(denial agent.Decision) bool { return denial.Ask == ask && denial.Digest == digest })
}

// taken notes that the agent has a decision. It tells the journal once for each question: a child may ask again, and
// take again, without end.
func (d *Desk) taken(l agent.Line) {
	d.forget(l.Ask)
	a := d.find(l.Ask)
	if a == nil || a.Taken {
		return
	}
	if a.Outcome == "" { // an earlier watcher has denied it without a record
		d.end(a, approval.Withdrawn, approval.ByAgent, "the agent has an answer already")
		return
	}
	a.Taken = true
	if l.Failed && !d.toldOfFailure {
		d.toldOfFailure = true
		d.Log.Warn("an agent did not take a decision; the watcher will not log the next ones of its run", "run", d.Run, "approval", a.Number)
	}
	if d.noted[a.Number] {
		return
	}
	if err := d.Journal.NoteTaken(d.Life, d.Run, a.Number); err != nil {
		d.Log.Warn("the journal did not record that an agent has a decision; the next watcher sends the decision again", "run", d.Run, "error", err)
		return
	}
	d.noted[a.Number] = true
}

// forget drops the denials of a question that have no record: the agent has them, or does not want them any more.
func (d *Desk) forget(ask string) {
	var left []agent.Decision
	told := 0
	for i, denial := range d.denied {
		if denial.Ask == ask {
			continue
		}
		left = append(left, denial)
		if i < d.told {
			told++
		}
	}
	d.denied, d.told = left, told
}

// withdrawn ends a question that the agent has taken back.
func (d *Desk) withdrawn(l agent.Line) {
	d.forget(l.Ask)
	if a := d.find(l.Ask); a != nil && a.Outcome == "" {
		d.end(a, approval.Withdrawn, approval.ByAgent, "the agent has taken it back")
	}
}
