package main

import (
	"regexp"
	"testing"

	"torno/internal/cli"
	"torno/internal/control"
	"torno/internal/doctor"
	"torno/internal/serve"
	"torno/test/fields"
	"torno/watcher/session"
)

// TestOperationsHasEachField that a command of the operator's prints with --json, or the control socket has. Those of the wire may be on its page.
func TestOperationsHasEachField(t *testing.T) {
	pages := read(t, "docs/OPERATIONS.md")
	wire := read(t, "docs/PROTOCOL.md")
	names := fields.Names(
		control.Status{},
		control.Run{},
		control.Pool{},
		control.Question{},
		control.Revoked{},
		control.Workspace{},
		control.Reload{},
		control.Accepted{},
		session.Record{},
		piece{},
		doctor.Finding{},
		cli.Trouble{},
		opened{},
		serve.RouteAttempt{},
	)
	if len(names) < 100 {
		t.Fatalf("only %d fields were found", len(names))
	}
	for name := range names {
		known := regexp.MustCompile("[`\".]" + regexp.QuoteMeta(name) + "[`\"]")
		if !known.MatchString(pages) && !known.MatchString(wire) {
			t.Errorf("docs/OPERATIONS.md does not say what %s is", name)
		}
	}
}
