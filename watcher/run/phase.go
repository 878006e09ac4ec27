package run

import (
	"fmt"
	"slices"

	"torno/delegation"
)

// Phase is how far a run has come.
type Phase string

// The phases of a run, in their order.
const (
	Queued    Phase = "queued"    // no sandbox is bound to it
	Bound     Phase = "bound"     // the journal has a sandbox's id for it
	Created   Phase = "created"   // that sandbox is there, and nothing of it was started
	Holding   Phase = "holding"   // init was started, and has no word
	Releasing Phase = "releasing" // the journal was asked to note the release: what is in the sandbox may be an agent
	Released  Phase = "released"  // the journal has noted it
	Running   Phase = "running"   // and that the agent has begun
	Waiting   Phase = "waiting"   // and that it waits for an approval
	Ended     Phase = "ended"     // and how the run has ended
)

var phases = []Phase{Queued, Bound, Created, Holding, Releasing, Released, Running, Waiting, Ended}

// following has the phases that may follow each one. Every phase but the last may be followed by Ended, and up to the hold another
// sandbox may be bound.
var following = map[Phase][]Phase{
	Queued:    {Bound, Ended},
	Bound:     {Created, Bound, Ended},
	Created:   {Holding, Bound, Ended},
	Holding:   {Releasing, Bound, Ended},
	Releasing: {Released, Ended},
	Released:  {Running, Ended},
	Running:   {Waiting, Ended},
	Waiting:   {Running, Ended},
}

// PhaseError is a move that no run makes.
type PhaseError struct{ From, To Phase }

func (e *PhaseError) Error() string { return fmt.Sprintf("a run that is %s becomes %s", e.From, e.To) }

// phaseOf returns the phase of a run of which only the journal's state is known. A run that was released before it has this state
// is the caller's to know.
func phaseOf(state delegation.State) Phase {
	if state == delegation.StateStarting {
		return Bound
	}
	return Phase(state)
}

// State returns the journal's state of a run in this phase.
func (p Phase) State() delegation.State {
	if p.isBetween(Bound, Released) {
		return delegation.StateStarting
	}
	return delegation.State(p)
}

// IsReleased says whether the journal has noted the release of a run that has not ended.
func (p Phase) IsReleased() bool { return p.isBetween(Released, Waiting) }

// mayHaveAgent says whether an agent may be in the sandbox.
func (p Phase) mayHaveAgent() bool { return p.isBetween(Releasing, Waiting) }

func (p Phase) isBetween(first, last Phase) bool {
	i := slices.Index(phases, p)
	return slices.Index(phases, first) <= i && i <= slices.Index(phases, last)
}

// enter moves a run to another phase, and shows that where it is another state. reason is that of an end.
func (r *Run) enter(to Phase, reason delegation.Reason) (err error) {
	r.telling.Lock()
	defer r.telling.Unlock()
	before, now := r.standing.set(func(s *Standing) {
		if !slices.Contains(following[s.Phase], to) {
			err = &PhaseError{s.Phase, to}
			return
		}
		s.Phase, s.Reason, s.Position = to, reason, 0
	})
	if before.Phase.State() != now.Phase.State() {
		r.show(before, now)
	}
	return err
}
