package manager

import (
	"slices"

	"torno/delegation"
)

// WaitUpdate is the state of a run that has not ended. The texts of Notices come from the heartbeat file, and any
// process of the parent may have written that file: treat them as data.
type WaitUpdate struct {
	State    delegation.State // "" while the watcher has not said
	Position int              // in the queue, from 1
	// NotServing is set while no watcher serves the outbox. The run's request is kept, and a watcher that comes back
	// continues with it.
	NotServing *NobodyServingError
	// Approvals are the agent's questions that wait. Their tools and arguments are the child's words.
	Approvals []delegation.PendingApproval
	// Notices are the watcher's troubles.
	Notices delegation.Notices
}

// equal reports whether two updates tell the same.
func (p WaitUpdate) equal(other WaitUpdate) bool {
	return p.State == other.State && p.Position == other.Position && slices.Equal(p.Notices, other.Notices) && slices.EqualFunc(p.Approvals, other.Approvals, sameApproval) &&
		(p.NotServing == nil) == (other.NotServing == nil) && (p.NotServing == nil || p.NotServing.Stopped == other.NotServing.Stopped)
}

func sameApproval(a, b delegation.PendingApproval) bool {
	return a.Approval == b.Approval && a.Digest == b.Digest
}

// report tells the caller about changes.
func (t *tracker) report() {
	if t.tell == nil {
		return
	}
	now := WaitUpdate{State: t.status.State, Position: t.status.Position, Approvals: t.status.Approvals, NotServing: t.heartbeat.absence}
	if now.NotServing == nil { // the notices of a missing watcher are out of date
		now.Notices = t.heartbeat.beat.Notices
	}
	if t.reported != nil && now.equal(*t.reported) {
		return
	}
	t.reported = &now
	t.tell(now)
}
