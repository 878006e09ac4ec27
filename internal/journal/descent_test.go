package journal

import (
	"testing"

	"torno/delegation"
)

// TestChildrenThatGoOnAreCounted: of the parent's run alone, and without what the next run takes the place of.
func TestChildrenThatGoOnAreCounted(t *testing.T) {
	j := open4test(t, state(t))
	parent := begin(t, j, queued(t, "main", "p", "r1"))
	child := func(id, request, of string) Run {
		r := queued(t, "main", id, request)
		r.Descent = Descent{Parent: "p", Run: of, Depth: 2}
		return begin(t, j, r)
	}
	first, second := child("a", "r1", parent.Key), child("b", "r1", parent.Key)
	child("c", "r1", "of another run")
	child("d", "r1", "")
	count := func(want int, but delegation.SubagentID) {
		t.Helper()
		if n, err := j.Children(t.Context(), parent.Key, but); err != nil || n != want {
			t.Errorf("%d children, %v; want %d", n, err, want)
		}
	}
	count(2, parent.Subagent)
	count(1, first.Subagent)
	must(t, j.Move(t.Context(), second.Key, delegation.StateQueued, delegation.StateEnded, Change{Reason: delegation.ReasonCancelled}))
	count(1, parent.Subagent)
	if n, err := j.Children(t.Context(), "", parent.Subagent); err != nil || n != 0 {
		t.Errorf("nobody has %d children, %v", n, err)
	}
}
