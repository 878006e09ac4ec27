package run

import (
	"errors"
	"slices"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/output"
)

// TestEveryPairOfPhases: a run moves along its way only, can end anywhere, and gets another sandbox up to its hold. No move is one that
// the journal would refuse, and what is refused changes nothing.
func TestEveryPairOfPhases(t *testing.T) {
	way := map[[2]Phase]bool{
		{Queued, Bound}: true, {Bound, Created}: true, {Created, Holding}: true, {Holding, Releasing}: true, {Releasing, Released}: true,
		{Released, Running}: true, {Running, Waiting}: true, {Waiting, Running}: true,
		{Bound, Bound}: true, {Created, Bound}: true, {Holding, Bound}: true,
	}
	for i, from := range phases {
		for j, to := range phases {
			want := way[[2]Phase{from, to}] || to == Ended && from != Ended
			r := runsOf(t).newRun(Request{}, sandbox.Spec{}, &shown{live: &output.Live{}})
			r.standing.now.Phase = from
			err := r.enter(to, "")
			if forbidden, is := errors.AsType[*PhaseError](err); (err == nil) != want || is && *forbidden != (PhaseError{from, to}) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if now := r.Standing().Phase; now != map[bool]Phase{true: to, false: from}[want] {
				t.Errorf("%s to %s: it is %s", from, to, now)
			}
			if from.State() != to.State() && want && i > j && to != Running {
				t.Errorf("%s to %s: the journal goes back", from, to)
			}
		}
	}
}

// TestPhasesAndStates: each phase has the state that the journal has then.
func TestPhasesAndStates(t *testing.T) {
	for _, c := range []struct {
		state              delegation.State
		phases             []Phase
		released, hasAgent []Phase
	}{
		{state: delegation.StateQueued, phases: []Phase{Queued}},
		{
			state: delegation.StateStarting, phases: []Phase{Bound, Created, Holding, Releasing, Released},
			released: []Phase{Released}, hasAgent: []Phase{Releasing, Released},
		},
		{state: delegation.StateRunning, phases: []Phase{Running}, released: []Phase{Running}, hasAgent: []Phase{Running}},
		{state: delegation.StateWaiting, phases: []Phase{Waiting}, released: []Phase{Waiting}, hasAgent: []Phase{Waiting}},
		{state: delegation.StateEnded, phases: []Phase{Ended}},
	} {
		if first := phaseOf(c.state); first != c.phases[0] {
			t.Errorf("a run that is %s is in phase %s", c.state, first)
		}
		for _, p := range c.phases {
			if p.State() != c.state || p.IsReleased() != slices.Contains(c.released, p) || p.mayHaveAgent() != slices.Contains(c.hasAgent, p) {
				t.Errorf("%s: %s, released %t, with an agent %t", p, p.State(), p.IsReleased(), p.mayHaveAgent())
			}
		}
	}
}
