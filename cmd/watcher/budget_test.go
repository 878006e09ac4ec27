package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/cli"
	"torno/internal/control"
)

// TestWhatIsSaidOfBudgets: a table, and a sentence while the clock is not believed.
func TestWhatIsSaidOfBudgets(t *testing.T) {
	noon := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	all := control.Budgets{
		Budgets: []control.Budget{
			{BudgetOf: control.BudgetOf{Kind: control.OutboxDay, Outbox: "main"}, Spent: &delegation.ModelUsage{Requests: 2, InputTokens: 10, OutputTokens: 5, Money: "0.25"}},
			{BudgetOf: control.BudgetOf{Kind: control.Tree, Outbox: "ma\x1b[2Jin"}, Spent: &delegation.ModelUsage{}},
		},
		Clock: &calendar.Doubt{Clock: noon.AddDate(1, 0, 0), Believed: noon, Left: 40 * time.Minute},
	}
	var out, note bytes.Buffer
	a := &app{Program: &cli.Program{System: cli.System{Out: cli.NewOutput(&out, func(string) string { return "" }), Errors: cli.NewOutput(&note, func(string) string { return "" })}}}
	if err := a.sayBudgets(all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"main", "outbox-day", "2 requests, 10 tokens in, 5 out, 0.25", "tree", "nothing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %s", want, &out)
		}
	}
	if want := "the clock has jumped to 2027-03-08T12:00:00Z and is not believed yet: days go on as if it were 2026-03-08T12:00:00Z, for another 40m0s if the clock stays there"; !strings.Contains(note.String(), want) {
		t.Errorf("it does not say %q: %s", want, &note)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a name moves the cursor: %q", &out)
	}
}
