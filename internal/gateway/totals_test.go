package gateway

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"torno/internal/gateway/budget"
	"torno/test/upstream/standin"
)

// TestTotalsAreByRoute, and by no word of a child's: paths and models that it makes up are counted under the route's name, or under none.
func TestTotalsAreByRoute(t *testing.T) {
	r := newRig(t)
	s := limited("run", budget.Limits{Requests: number(2)})
	s.Routes = []Way{{Prefix: "/c", Route: "claude"}}
	c := r.open(s)
	asks := []string{"/c" + messages, "/c" + messages, "/c" + messages, "/made-up-1", "/made-up-2", "/c/v1/made-up"}
	for i, path := range asks {
		do(t, c, ask(path, "hello", false))
		r.event(int64(i) + 1)
	}
	totals := r.g.Totals()
	if len(totals) != 2 || totals[0].Route != "" || totals[1].Route != "claude" {
		t.Fatalf("the totals are %+v", totals)
	}
	if got := totals[0]; got.Requests != 2 || !maps.Equal(got.Codes, map[string]int64{"no_route": 2}) || got.Cost != (budget.Amount{}) {
		t.Errorf("without a route: %+v", got)
	}
	want := budget.Amount{Requests: 2, InputTokens: 2 * standin.InputTokens, OutputTokens: 2 * standin.OutputTokens, Money: 2 * (standin.InputTokens + 10*standin.OutputTokens) * budget.Unit / 1_000_000}
	if got := totals[1]; got.Requests != 4 || got.Cost != want || !slices.Equal(slices.Sorted(maps.Keys(got.Codes)), []string{"budget", "path_not_allowed"}) {
		t.Errorf("of the route: %+v, want %+v", got, want)
	}
	if status, _ := do(t, c, ask("/c"+messages, "hello", false)); status != http.StatusBadRequest || totals[1].Codes["budget"] != 1 {
		t.Errorf("%d: what was asked before changes later: %+v", status, totals[1])
	}
}
