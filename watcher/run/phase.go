package run

import (
	"fmt"
	"slices"

	"torno/delegation"
)

// Phase says how far a run has come.
type Phase string

// The phases of a run, in their order.
const (
	Queued    Phase = "queued"    // no sandbox is bound to the run
	Bound     Phase = "bound"     // the journal has a sandbox id for the run
	Created   Phase = "created"   // the sandbox exists; nothing in it was started
	Holding   Phase = "holding"   // init was started, and waits for the word
	Releasing Phase = "releasing" // the journal was asked to note the release; from now on an agent may be in the sandbox
	Released  Phase = "released"  // the journal has noted the release
	Running   Phase = "running"   // the journal has noted that the agent has begun
	Waiting   Phase = "waiting"   // the journal has noted that the agent waits for an approval
	Ended     Phase = "ended"     // the journal has noted how the run ended
)

var phases = []Phase{Queued, Bound, Created, Holding, Releasing, Released, Running, Waiting, Ended}

// following lists the phases that may follow each phase. Ended may follow every phase but itself. In the phases from
// Bound to Holding, Bound may follow again, for another sandbox.
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

// PhaseError is a change of phase that no run makes.
type PhaseError struct{ From, To Phase }

func (e *PhaseError) Error() string {
	return fmt.Sprintf("a run that is %s cannot become %s", e.From, e.To)
}

// phaseOf returns the phase of a run when only the journal's state is known. A bound run and a released run have the
// same state; only the caller can tell them apart.
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

// IsReleased reports whether the journal has noted the release, and the run has not ended.
func (p Phase) IsReleased() bool { return p.isBetween(Released, Waiting) }

// mayHaveAgent reports whether an agent may be in the sandbox.
func (p Phase) mayHaveAgent() bool { return p.isBetween(Releasing, Waiting) }

func (p Phase) isBetween(first, last Phase) bool {
	i := slices.Index(phases, p)
	return slices.Index(phases, first) <= i && i <= slices.Index(phases, last)
}

// enter moves a run to another phase, and shows the move if the journal's state changes with it. reason is the reason
// of an end.
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
