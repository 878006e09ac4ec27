package delegation

import (
	"os"
	"regexp"
	"testing"

	"torno/test/fields"
)

// TestTheProtocolHasEachField that is in a file of an outbox: in a table or in an example.
func TestTheProtocolHasEachField(t *testing.T) {
	page, err := os.ReadFile("../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	names := fields.Names(Request{}, Response{}, RunStatus{}, Heartbeat{}, Event{}, Input{}, InputStatus{}, ApprovalEvent{}, PendingApproval{}, Notice{}, Refusal{})
	if len(names) < 100 {
		t.Fatalf("only %d fields were found", len(names))
	}
	for name := range names {
		if !regexp.MustCompile("[`\".]" + regexp.QuoteMeta(name) + "[`\"]").Match(page) {
			t.Errorf("docs/PROTOCOL.md does not say what %s is", name)
		}
	}
}
