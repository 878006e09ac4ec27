package run

import (
	"errors"
	"slices"
	"sync"

	"torno/delegation"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// claims says which run has a workspace as its own. It owns the claim of every run from admission to its answer.
type claims struct {
	mu sync.Mutex
	of map[*Run]*claim
}

// claim is what a run has of its workspace.
type claim struct {
	held    *workspace.Held // what it works in, from before its sandbox is made until its last process is gone
	mine    bool            // nothing takes it from the run
	losesTo *Run            // which has claimed a workspace that holds this one's or lies in it
}

func newClaims() *claims { return &claims{of: make(map[*Run]*claim)} }

// enter adds a run, without a workspace yet.
func (c *claims) enter(r *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[r] = &claim{}
}

// leave forgets a run.
func (c *claims) leave(r *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, r)
}

// hold says that a run works in a workspace now, or in none any more, where held is nil.
func (c *claims) hold(r *Run, held *workspace.Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.of[r]; own != nil {
		own.held = held
	}
}

// held is the workspace in which a run works, or nil.
func (c *claims) held(r *Run) *workspace.Held {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.of[r]; own != nil {
		return own.held
	}
	return nil
}

// unclaim makes a run's claim open to challenge again: nothing runs in its workspace now, although an earlier sandbox of it may have.
func (c *claims) unclaim(r *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[r].mine = false
}

// movedTogether refuses a run whose workspace holds that of another one by now, or lies in it: a parent can move a directory
// while a run works there. There are at most as many others as may run at once.
//
// A run that has claimed its workspace keeps it. Of two that both look, the one that was admitted first wins: it refuses the
// other one, whichever of them saw the other. No file system is asked under the lock.
func (c *claims) movedTogether(r *Run, held *workspace.Held) *delegation.Refusal {
	met := c.meets(r, held)
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.of[r]
	for _, other := range met {
		theirs := c.of[other]
		mayClaim := theirs != nil && theirs.held != nil && theirs.losesTo == nil
		if mayClaim && own.losesTo == nil && (theirs.isSure(other) || other.number < r.number) {
			own.losesTo = other
		}
	}
	if own.losesTo != nil {
		return schedule.Busy(&own.losesTo.ticket, "is in use")
	}
	for _, other := range met {
		theirs := c.of[other]
		if theirs != nil && !theirs.isSure(other) && theirs.losesTo == nil {
			theirs.losesTo = r
		}
	}
	own.mine = true
	return nil
}

// isSure says whether nothing takes a run's workspace from it any more.
func (own *claim) isSure(r *Run) bool { return own.mine || r.Standing().Phase.IsReleased() }

// meets are the runs of other subagents whose workspaces hold this one's now, lie in it or are the same.
func (c *claims) meets(r *Run, held *workspace.Held) (met []*Run) {
	for other, theirs := range c.holders(r) {
		above, err := theirs.Above()
		if errors.Is(err, workspace.ErrClosed) {
			continue // it was let go
		}
		unknown := err != nil || len(above) == 0 || len(held.AboveThen) == 0 // a parent can move it where nothing finds out what lies above it
		if unknown || slices.Contains(above, held.AboveThen[0]) || slices.Contains(held.AboveThen, above[0]) {
			met = append(met, other)
		}
	}
	return met
}

// holders are the runs of other subagents that hold a workspace, and what they hold.
func (c *claims) holders(r *Run) map[*Run]*workspace.Held {
	c.mu.Lock()
	defer c.mu.Unlock()
	others := make(map[*Run]*workspace.Held)
	for other, theirs := range c.of {
		if other.ticket.Subject != r.ticket.Subject && theirs.held != nil {
			others[other] = theirs.held
		}
	}
	return others
}
