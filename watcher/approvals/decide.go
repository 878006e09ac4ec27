package approvals

import (
	"errors"
	"strings"

	"torno/delegation"
	"torno/internal/approval"
	"torno/internal/crash"
	"torno/internal/journal"
)

// decided shows a decision that the journal has, and has it sent.
func (d *Desk) decided(a approval.Approval) {
	d.Log.Info("an agent's question was decided", "run", d.Run, "approval", a.Number, "tool", a.Tool, "outcome", a.Outcome, "by", a.By)
	delete(d.calls, a.Number)
	d.all[a.Number-1].Preview = ""
	d.Tell(d.decidedEvent(a))
	notify(d.changed)
	notify(d.ready)
}

// end ends a question that nobody will decide any more. If the journal does not take the end, the question stays open,
// and a later call tries again.
func (d *Desk) end(a *journal.Asked, outcome approval.Outcome, by approval.Decider, why string) {
	now, _ := d.now()
	ended := a.Approval
	if !ended.End(outcome, by, why, now) {
		return
	}
	if err := d.note(ended, nil); err != nil {
		d.Log.Error("the journal did not record the end of a question", "run", d.Run, "error", err)
		return
	}
	a.Approval = ended
	d.waits.note(ended)
	d.decided(ended)
}

func (d *Desk) note(a approval.Approval, always *journal.NumberedChange) error {
	crash.At("approval.decided")
	return d.Journal.Decide(d.Life, a, always)
}

// Decide applies somebody's decision. When it returns without an error, the decision is in the journal.
func (d *Desk) Decide(by approval.Decision) error { return d.decide(by, nil) }

// DecideAlways grants a question, and from then on approves calls like it, for this run.
func (d *Desk) DecideAlways(by approval.Decision) error {
	d.mu.Lock()
	call, known := d.calls[by.Number]
	d.mu.Unlock()
	rule, able := call.Again()
	if !known || !able {
		return ErrNoAlways
	}
	return d.decide(by, &rule)
}

// ErrNoAlways says that the desk does not know this call any more, so it cannot recognize calls like it.
var ErrNoAlways = errors.New("the watcher no longer knows this call, so it cannot recognize calls like it")

func (d *Desk) decide(by approval.Decision, always *approval.Rule) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() || d.Policy == nil || by.Number < 1 || by.Number > len(d.all) {
		return approval.ErrNone
	}
	if len(by.Why) > delegation.MaxWhy {
		by.Why = strings.ToValidUTF8(by.Why[:delegation.MaxWhy], "")
	}
	a := &d.all[by.Number-1]
	now, _ := d.now()
	decided := a.Approval
	if err := decided.Decide(by, d.Policy, d.binding(), now); err != nil {
		return err
	}
	var change *journal.NumberedChange
	if always != nil {
		change = &journal.NumberedChange{Number: d.changes + 1, ApprovalChange: journal.ApprovalChange{Rule: always, Why: "always, by the " + string(by.By)}}
	}
	if err := d.note(decided, change); err != nil {
		return err
	}
	a.Approval = decided
	d.waits.note(decided)
	if change != nil {
		d.changes++
		d.apply(change.ApprovalChange)
	}
	d.decided(decided)
	return nil
}

// Was reports whether a decision is in the journal already.
func (d *Desk) Was(by approval.Decision) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return by.Number >= 1 && by.Number <= len(d.all) && d.all[by.Number-1].Is(by)
}

// Revoke ends, for this run, every approval without a question, and denies the questions that wait. It returns how many
// waited.
func (d *Desk) Revoke(why string) (pending int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() || d.Policy == nil {
		return 0, approval.ErrNone
	}
	for i := range d.all {
		if d.all[i].Outcome == "" {
			pending++
		}
	}
	if err := d.change(journal.ApprovalChange{Why: why}); err != nil {
		return 0, err
	}
	d.endWaiting(func(*journal.Asked) bool { return true })
	return pending, nil
}

// change records and applies a change of the run's permissions.
func (d *Desk) change(c journal.ApprovalChange) error {
	crash.At("approval.changed")
	if err := d.Journal.ChangeApprovals(d.Life, d.Run, d.changes+1, c); err != nil {
		return err
	}
	d.changes++
	d.apply(c)
	return nil
}

func (d *Desk) apply(c journal.ApprovalChange) {
	if c.Rule != nil {
		d.rules = append(d.rules, *c.Rule)
		return
	}
	d.rules, d.revoked = nil, true
}
