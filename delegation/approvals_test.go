package delegation

import (
	"strings"
	"testing"
	"time"
)

var someDigest = strings.Repeat("0123456789abcdef", 4)

// TestDecisionsAsInput: a decision names what it is about, and nothing else carries one.
func TestDecisionsAsInput(t *testing.T) {
	good := Input{Version: 1, SubagentID: "s1", RequestID: "r", N: 1, Kind: InputDecision, Approval: 3, Digest: someDigest, Decision: Deny, Text: "why"}
	if data, err := good.Encode(); err != nil {
		t.Error(err)
	} else if back, err := DecodeInput(data, subagentID(t, "s1"), requestID(t, "r"), 1); err != nil || back != good {
		t.Errorf("%+v, %v", back, err)
	}
	for name, change := range map[string]func(*Input){
		"no approval": func(in *Input) { in.Approval = 0 }, "no digest": func(in *Input) { in.Digest = "" }, "half a digest": func(in *Input) { in.Digest = someDigest[:32] },
		"an upper digest": func(in *Input) { in.Digest = strings.ToUpper(someDigest) }, "no decision": func(in *Input) { in.Decision = "" },
		"another": func(in *Input) { in.Decision = "always" }, "a long reason": func(in *Input) { in.Text = strings.Repeat("x", MaxWhy+1) },
		"a message": func(in *Input) { in.Kind = InputMessage },
	} {
		in := good
		change(&in)
		if _, err := in.Encode(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestQuestionsInEventsAndStatus: they are whole, and no other event has one.
func TestQuestionsInEventsAndStatus(t *testing.T) {
	asked := Event{Seq: 1, Time: instant, Type: EventAsked, Tool: &Tool{Name: "Bash", Input: []byte(`{"command":"ls"}`)}, Approval: &ApprovalEvent{Approval: 1, Digest: someDigest}}
	decided := Event{Seq: 2, Time: instant, Type: EventDecided, Tool: &Tool{Name: "Bash"}, Text: "no", Approval: &ApprovalEvent{Approval: 1, Digest: someDigest, Outcome: "denied", By: "operator"}}
	segment, err := EncodeEvents([]Event{asked, decided})
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeEvents(segment)
	if err != nil || len(back) != 2 || back[0].Show() != "? approval 1: Bash ls\n" || back[1].Show() != "? approval 1: denied by operator: no\n" {
		t.Errorf("%+v, %v", back, err)
	}
	for name, change := range map[string]func(*Event){
		"without a tool": func(e *Event) { e.Tool = nil }, "without an approval": func(e *Event) { e.Approval = nil },
		"decided before it is": func(e *Event) { e.Approval = decided.Approval }, "another type": func(e *Event) { e.Type = EventText },
	} {
		e := asked
		change(&e)
		if _, err := EncodeEvents([]Event{e}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	status := RunStatus{Version: 1, SubagentID: "s1", RequestID: "r", State: StateWaiting, UpdatedAt: instant}
	status.Approvals = []PendingApproval{{Approval: 1, Digest: someDigest, Tool: "Bash", Arguments: strings.Repeat("x", 1<<10), AskedAt: instant, ExpiresAt: instant.Add(time.Minute)}}
	data, err := status.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeRunStatus(data); err != nil || len(back.Approvals) != 1 || back.Approvals[0].Digest != someDigest {
		t.Errorf("%+v, %v", back, err)
	}
	status.Approvals[0].Arguments = strings.Repeat("x", maxQuestionText+1)
	if _, err := status.Encode(); err == nil {
		t.Error("a question that is too long is taken")
	}
}
