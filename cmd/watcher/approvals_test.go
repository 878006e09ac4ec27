package main

import (
	"bytes"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/cli"
	"torno/internal/control"
)

// TestArgumentsThatAreCut: an operator sees that there is more of a call than what is shown. A child may have put what counts there.
func TestArgumentsThatAreCut(t *testing.T) {
	for cut, want := range map[bool]string{true: `{"a":"x… (cut)`, false: `{"a":"x`} {
		var out bytes.Buffer
		a := &app{Program: &cli.Program{System: cli.System{Out: cli.NewOutput(&out, func(string) string { return "" })}}}
		q := control.Question{Outbox: "main", Subagent: "sub_1", PendingApproval: delegation.PendingApproval{Approval: 1, Tool: "Bash", Arguments: `{"a":"x`, Cut: cut}}
		if err := a.sayQuestions([]control.Question{q}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
			t.Errorf("%q does not end with %q", out.String(), want)
		}
	}
}
