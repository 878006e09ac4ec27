package main

import (
	"encoding/json"
	"strings"
	"testing"

	"torno/delegation"
	"torno/manager"
)

// TestProgramsSeeWhatWasSpent, in a result and in a listing.
func TestProgramsSeeWhatWasSpent(t *testing.T) {
	usage := &delegation.Usage{Model: &delegation.ModelUsage{Requests: 2, InputTokens: 10, OutputTokens: 5, Money: "0.25"}}
	const want = `"usage":{"model":{"requests":2,"input_tokens":10,"output_tokens":5,"money":"0.25"}}`
	for _, shape := range []any{endedOf(manager.Result{Usage: usage}), listedOf(manager.Item{Usage: usage})} {
		if said, err := json.Marshal(shape); err != nil || !strings.Contains(string(said), want) {
			t.Errorf("%T is %s, %v", shape, said, err)
		}
	}
}
