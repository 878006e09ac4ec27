package main

import (
	"strings"
	"testing"
	"time"

	"torno/internal/approval"
	"torno/internal/control"
)

// TestShowTellsWhoDecidedWhat: show prints each question on one line. It counts the calls that the policy allowed, and does not list them.
func TestShowTellsWhoDecidedWhat(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 15, 4, second, 0, time.Local) }
	var shown []string
	for _, row := range facts(control.Run{Questions: []control.Asked{
		{Approval: 1, Tool: "Read", Outcome: approval.Granted, By: approval.ByPolicy},
		{Approval: 2, Tool: "Bash", Arguments: "{\"command\":\"a\nb\"}", AskedAt: at(5), Outcome: approval.Granted, By: approval.ByOperator, DecidedAt: at(9)},
		{Approval: 3, Tool: "Bash", Arguments: "{}", AskedAt: at(10), Outcome: approval.Declined, By: approval.ByTime, DecidedAt: at(20), Why: "no decision came in time"},
		{Approval: 4, Tool: "Edit", Arguments: "{}", AskedAt: at(30)},
	}}) {
		if strings.HasPrefix(row[0].Text, "question") {
			shown = append(shown, row[0].Text+": "+row[1].Text)
		}
	}
	want := []string{
		`question 2: Bash {"command":"a b"}, asked 15:04:05, approved by the operator 15:04:09`,
		`question 3: Bash {}, asked 15:04:10, expired 15:04:20: no decision came in time`,
		`question 4: Edit {}, asked 15:04:30, not decided`,
		`questions: the policy allowed 1; --json lists them`,
	}
	if strings.Join(shown, "\n") != strings.Join(want, "\n") {
		t.Errorf("it shows\n%s", strings.Join(shown, "\n"))
	}
}
