package manager

import (
	"slices"

	"torno/delegation"
)

// Progress is what is known of a run that has not ended. The texts of Notices are the watcher's, or of whoever wrote its
// heartbeat: data.
type Progress struct {
	State    delegation.State // "" while the watcher has not said
	Position int              // in the queue, from 1
	// Nobody is set while nobody serves the outbox. The run's request is kept, and a watcher that comes back goes on
	// with it.
	Nobody *NobodyServingError
	// Notices are what keeps the watcher from its work.
	Notices delegation.Notices
}

// same says whether there is nothing new.
func (p Progress) same(other Progress) bool {
	return p.State == other.State && p.Position == other.Position && slices.Equal(p.Notices, other.Notices) &&
		(p.Nobody == nil) == (other.Nobody == nil) && (p.Nobody == nil || p.Nobody.Stopped == other.Nobody.Stopped)
}

// report tells the caller what is new.
func (v *vigil) report() {
	if v.tell == nil {
		return
	}
	now := Progress{State: v.status.State, Position: v.status.Position, Nobody: v.pulse.nobody}
	if now.Nobody == nil { // who does not serve has no trouble
		now.Notices = v.pulse.beat.Notices
	}
	if v.told != nil && now.same(*v.told) {
		return
	}
	v.told = &now
	v.tell(now)
}
