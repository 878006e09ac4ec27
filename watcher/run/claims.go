package run

import (
	"errors"
	"slices"
	"sync"

	"torno/delegation"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// claims knows which run has a workspace to itself. It owns the claim of every run, from admission to answer.
type claims struct {
	mu sync.Mutex
	of map[*Run]*claim
}

// claim is the hold of one run on its workspace.
type claim struct {
	held    *workspace.Held // the workspace, from before the sandbox is made until its last process is gone
	mine    bool            // no other run can take the workspace
	losesTo *Run            // the run that has claimed a directory above, below or equal to this workspace
}

func newClaims() *claims { return &claims{of: make(map[*Run]*claim)} }

// enter adds a run that has no workspace yet.
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

// hold notes that a run works in a workspace now, or in none any more if held is nil.
func (c *claims) hold(r *Run, held *workspace.Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.of[r]; own != nil {
		own.held = held
	}
}

// held returns the workspace where a run works now, or nil.
func (c *claims) held(r *Run) *workspace.Held {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.of[r]; own != nil {
		return own.held
	}
	return nil
}

// unclaim lets other runs challenge the run's claim again: nothing runs in its workspace now, although an earlier
// sandbox of the run may have.
func (c *claims) unclaim(r *Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[r].mine = false
}

// movedTogether refuses a run if its workspace by now contains the workspace of another run or lies in it: a parent can
// move a directory while a run works there. There are at most as many other runs as may run at once.
//
// A run that has claimed its workspace keeps it. If two runs look at the same time, the run that was admitted first
// wins: it refuses the other run, whichever of them saw the other. movedTogether asks no file system while it holds the
// lock.
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

// isSure reports whether no other run can take the workspace from this run any more.
func (own *claim) isSure(r *Run) bool { return own.mine || r.Standing().Phase.IsReleased() }

// meets returns the runs of other subagents whose workspaces now contain this run's workspace, lie in it, or are the
// same directory. If a parent moves a directory out of our sight, its run meets every run of its own outbox. It does not
// hold up other parents, who could not move it back.
func (c *claims) meets(r *Run, held *workspace.Held) (met []*Run) {
	for other, theirs := range c.holders(r) {
		above, err := theirs.Above()
		if errors.Is(err, workspace.ErrClosed) {
			continue // it was closed meanwhile
		}
		if err != nil || len(above) == 0 || len(held.AboveThen) == 0 {
			if other.ticket.Subject.Outbox == r.ticket.Subject.Outbox {
				met = append(met, other)
			}
			continue
		}
		if slices.Contains(above, held.AboveThen[0]) || slices.Contains(held.AboveThen, above[0]) {
			met = append(met, other)
		}
	}
	return met
}

// holders returns the runs of other subagents that hold a workspace, each with its workspace.
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
