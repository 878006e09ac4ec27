package run

import (
	"errors"
	"slices"

	"torno/delegation"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// claimWorkspace makes sure that the directory that is held is the run's alone: what is at its path now need not be what was
// there when the run was admitted.
func (runs *Runs) claimWorkspace(r *Run) (verdict, bool) {
	if r.held == nil {
		return verdict{}, true // nothing starts without one
	}
	runs.unclaim(r)
	refusal := runs.Schedule.Settle(runs.Life, &r.ticket, r.held.AboveThen)
	if refusal == nil {
		r.holds.Store(r.held) // before the others are looked at: of two that start at once, one sees the other
		refusal = runs.movedTogether(r)
	}
	if refusal != nil {
		r.holds.Store(nil) // nothing of it runs there, and it is in no other run's way
		return verdict{reason: delegation.ReasonRefused, refusal: refusal}, false
	}
	return verdict{}, true
}

// unclaim has a run look at the others again: nothing runs in its workspace now, although something may have held there before.
func (runs *Runs) unclaim(r *Run) {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	r.claimed = false
}

// movedTogether refuses a run whose workspace holds that of another one by now, or lies in it: a parent can move a directory
// while a run works there. There are at most as many others as may run at once.
//
// A run that has claimed its workspace keeps it. Of two that both look, the one that was admitted first wins: it refuses the
// other one, whichever of them saw the other. No file system is asked under the lock.
func (runs *Runs) movedTogether(r *Run) *delegation.Refusal {
	met := runs.meets(r)
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for _, other := range met {
		mayClaim := other.holds.Load() != nil && other.losesTo == nil
		if mayClaim && r.losesTo == nil && (other.hasClaim() || other.number < r.number) {
			r.losesTo = other
		}
	}
	if r.losesTo != nil {
		return schedule.Busy(&r.losesTo.ticket, "is in use")
	}
	for _, other := range met {
		if !other.hasClaim() && other.losesTo == nil {
			other.losesTo = r
		}
	}
	r.claimed = true
	return nil
}

// hasClaim says whether nothing takes a run's workspace from it any more. The lock of Runs is held.
func (r *Run) hasClaim() bool { return r.claimed || r.Standing().Released }

// meets are the runs of other subagents whose workspaces hold this one's now, lie in it or are the same.
func (runs *Runs) meets(r *Run) (met []*Run) {
	for _, other := range runs.holders(r) {
		held := other.holds.Load()
		if held == nil {
			continue
		}
		above, err := held.Above()
		if errors.Is(err, workspace.ErrClosed) {
			continue // it was let go
		}
		unknown := err != nil || len(above) == 0 || len(r.held.AboveThen) == 0 // a parent can move it where nothing finds out what lies above it
		if unknown || slices.Contains(above, r.held.AboveThen[0]) || slices.Contains(r.held.AboveThen, above[0]) {
			met = append(met, other)
		}
	}
	return met
}

// holders are the runs of other subagents that hold a workspace.
func (runs *Runs) holders(r *Run) (others []*Run) {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for _, other := range runs.owned {
		if other.ticket.Subject != r.ticket.Subject && other.holds.Load() != nil {
			others = append(others, other)
		}
	}
	return others
}
