package main

import (
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/cli"
)

// TestAQuestionNamesTheCommandThatDecidesIt: the command approves as it stands, because it names the digest beside the number.
func TestAQuestionNamesTheCommandThatDecidesIt(t *testing.T) {
	var said strings.Builder
	c := newApp()
	c.Errors = cli.NewOutput(&said, func(string) string { return "" })
	asks := delegation.PendingApproval{Approval: 1, Tool: "Bash", Arguments: "{}", Digest: strings.Repeat("5be1c0de", 8)}
	c.questions("sub_1", []delegation.PendingApproval{asks}, nil)
	if !strings.Contains(said.String(), "subagent approve sub_1 1 5be1c0de,") {
		t.Errorf("it says %q", said.String())
	}
}
