package gateway

import (
	"testing"

	"torno/internal/gateway/budget"
	"torno/internal/retry"
)

// TestARunsFirstRequestIsExpected: the ledger is told beside the making of the sandbox, with what the last request of the route could cost.
func TestARunsFirstRequestIsExpected(t *testing.T) {
	r := newRig(t)
	if status, body, err := say(t, r.open(spec("first")), messages, "hello", false); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	r.open(spec("second"))
	scope := budget.Scope{Kind: budget.Run, ID: "second"}
	for len(r.ledger.Scopes(budget.Run, "first", 10)) == 0 {
		if retry.Pause(t.Context(), retry.Later) != nil {
			t.Fatal("nothing is expected of it")
		}
	}
	if use := r.ledger.Use(scope); use != (budget.Use{}) {
		t.Errorf("it has spent %+v", use)
	}
}
