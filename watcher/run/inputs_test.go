package run

import (
	"testing"

	"torno/delegation"
)

// TestARefusedInputIsToldOnce: an earlier watcher has refused it behind one that the agent did not have yet, so the next one reads both again.
func TestARefusedInputIsToldOnce(t *testing.T) {
	refusal := &delegation.Refusal{Code: delegation.CodeTooBig, Text: "too big"}
	first := newInputs(true)
	first.took(delegation.Input{Kind: delegation.InputMessage, Text: "held"}, nil)
	first.took(delegation.Input{}, refusal)
	next := newInputs(true)
	next.resume(first.noted())
	next.took(delegation.Input{Kind: delegation.InputMessage, Text: "held"}, nil)
	next.took(delegation.Input{}, refusal)
	if status := next.noted(); status.Acknowledged != 0 || len(status.Refused) != 1 || status.Refused[0].N != 2 {
		t.Errorf("the status is %+v", status)
	}
}
