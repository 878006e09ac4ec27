package gateway

import (
	"slices"
	"testing"

	"torno/internal/gateway/budget"
)

// TestForget: a run with an open door stays, whatever its watcher says, also when the gateway was started again.
func TestForget(t *testing.T) {
	r := newRig(t)
	tree := budget.Scope{Kind: budget.Tree, ID: "tree"}
	for _, id := range []string{"a", "b", "c"} {
		s := spec(id)
		s.Claims = append(s.Claims, budget.Claim{Scope: tree})
		if status, body, err := say(t, r.open(s), messages, "hello", false); err != nil || status != 200 {
			t.Fatalf("%d, %v: %s", status, err, body)
		}
	}
	r.event(3)
	r.g.Close("a")
	r.g.Close("c")
	for _, g := range []*Gateway{r.g, r.gateway()} {
		if g != r.g {
			if err := g.Restore(); err != nil {
				t.Fatal(err)
			}
			defer g.Close("b")
		}
		if idle := g.IdleRuns(""); !slices.Contains(idle, "c") || slices.Contains(idle, "b") || len(g.IdleRuns("c")) != 0 {
			t.Errorf("without a door are %q", idle)
		}
		if err := g.Forget([]string{"a", "b", "never"}); err != nil {
			t.Error(err)
		}
		for id, want := range map[string]int64{"a": 0, "b": 1, "c": 1} {
			if got := r.ledger.Use(budget.Scope{Kind: budget.Run, ID: id}).Spent.Requests; got != want {
				t.Errorf("%s has spent %d requests", id, got)
			}
		}
	}
	if got := r.ledger.Use(tree).Spent.Requests; got != 3 {
		t.Errorf("the tree has spent %d requests", got)
	}
}
