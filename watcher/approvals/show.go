package approvals

import (
	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
)

// Pending returns the questions that wait, as a status shows them.
func (d *Desk) Pending() (all []delegation.PendingApproval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.all {
		if a.Outcome == "" {
			all = append(all, delegation.PendingApproval{
				Approval: a.Number, Digest: a.Digest, Tool: a.Tool, Arguments: a.Preview, Cut: a.Cut,
				AskedAt: d.clock(a.Asked), ExpiresAt: d.clock(a.Expires), DecidedBy: d.deciders(),
			})
		}
	}
	return all
}

// deciders returns who may decide. It returns nobody if the run's profile has no approvals any more: earlier questions
// are denied as soon as the journal takes that.
func (d *Desk) deciders() (names []string) {
	if d.Policy == nil {
		return nil
	}
	for _, by := range d.Policy.DecidedBy {
		names = append(names, string(by))
	}
	return names
}

// askedEvent returns the event that shows a question. The question is the child's word.
func (d *Desk) askedEvent(a approval.Approval, call approval.Call) delegation.Event {
	expires := d.clock(a.Expires)
	return delegation.Event{
		Type: delegation.EventAsked, Tool: &agent.Tool{Name: a.Tool, Input: call.Arguments},
		Approval: &delegation.ApprovalEvent{Approval: a.Number, Digest: a.Digest, ExpiresAt: expires},
	}
}

// decidedEvent returns the event that tells how a question was decided.
func (d *Desk) decidedEvent(a approval.Approval) delegation.Event {
	return delegation.Event{
		Type: delegation.EventDecided, Tool: &agent.Tool{Name: a.Tool}, Text: a.Why,
		Approval: &delegation.ApprovalEvent{Approval: a.Number, Digest: a.Digest, Outcome: string(a.Outcome), By: string(a.By)},
	}
}
