package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"torno/internal/cli"
	"torno/internal/control"
)

// TestWhatIsSaidOfCollected: a table for people, in which nothing of a child's can move the cursor, and an object for each with --json.
func TestWhatIsSaidOfCollected(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	all := []control.Workspace{
		{Outbox: "main", Subagent: "s1", Made: true, Used: now.Add(-time.Hour), Bytes: 999},
		{Outbox: "main", Subagent: "s2", Made: true, Used: now.Add(-48 * time.Hour), Bytes: 5 << 20, Over: "unused for 2 days", Removed: true},
		{Outbox: "main", Subagent: "s3", Used: now.Add(-48 * time.Hour), Over: "unused for 2 days", Kept: "a run \x1b[2J uses it"},
		{Outbox: "main", Subagent: "s4", Made: true, Used: now.Add(-48 * time.Hour), Bytes: 3 << 40, Over: "unused for 2 days"},
	}
	said := func(all []control.Workspace, change func(*app)) (string, string) {
		t.Helper()
		var out, complaints bytes.Buffer
		a := &app{Program: &cli.Program{System: cli.System{Out: cli.NewOutput(&out, func(string) string { return "" }), Errors: cli.NewOutput(&complaints, func(string) string { return "" })}}}
		if change != nil {
			change(a)
		}
		if err := a.sayCollected(all, true, now); err != nil {
			t.Fatal(err)
		}
		return out.String(), complaints.String()
	}
	table, note := said(all, nil)
	var rows [][]string
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Fields(line))
	}
	for i, want := range []string{
		"OUTBOX SUBAGENT UNUSED DISK WHAT", "main s1 1h 999B kept", "main s2 2d 5.0M removed: unused for 2 days", "main s3 2d - kept: a run", "main s4 2d 3.0T over: unused for 2 days",
	} {
		if i >= len(rows) || !strings.HasPrefix(strings.Join(rows[i], " "), want) {
			t.Errorf("line %d is not %q:\n%s", i, want, table)
		}
	}
	if strings.Contains(table, "\x1b") || !strings.Contains(note, "2 of 4 would be removed") {
		t.Errorf("it says %q and %q", table, note)
	}
	if table, note = said(nil, nil); table != "" || !strings.Contains(note, "no workspace falls under the rule") {
		t.Errorf("of none it says %q and %q", table, note)
	}
	objects, _ := said(all, func(a *app) { a.JSON = true })
	if lines := strings.Split(strings.TrimSpace(objects), "\n"); len(lines) != 4 || !strings.Contains(lines[1], `"removed":true`) {
		t.Errorf("as JSON it says\n%s", objects)
	}
}
