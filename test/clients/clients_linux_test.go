package clients

import (
	"fmt"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// each has a story told by every client in a sandbox of every launcher.
func each(t *testing.T, story func(t *testing.T, c client, sandbox string)) {
	for _, c := range []client{claude, codex} {
		t.Run(c.name, func(t *testing.T) {
			house.Each(t, func(t *testing.T, sandbox string) { story(t, c, sandbox) })
		})
	}
}

// TestAClientWorks: it answers, it runs a command in its sandbox, it waits where the upstream says so, and it ends with its budget.
func TestAClientWorks(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		s.usesATool()
		s.endsWithItsBudget()
		s.waits()
	})
}

// usesATool: the command's result goes to the model, whose answer is what the client prints. All of it was counted.
func (s *stage) usesATool() {
	s.Helper()
	since := len(s.up.Seen())
	resp := s.answered(s.ask("tool", "client", s.run, fmt.Sprintf(s.tool, "echo from-$((40+2)) | tee made.txt; env")))
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.wantPrinted(resp, "The tool said:")
	s.wantPrinted(resp, "from-42")
	if made := s.Read(s.Outbox + "/workspaces/tool/made.txt"); made != "from-42\n" {
		s.Errorf("the command has made %q", made)
	}
	if m := resp.Usage.Model; m == nil || m.Requests != 2 || m.InputTokens != 2*standin.InputTokens || m.OutputTokens != 2*standin.OutputTokens {
		s.Errorf("%+v was spent, by %q", m, s.answers(since))
	}
}

// endsWithItsBudget: the client shows why, and ends by itself. It is asked nothing more.
func (s *stage) endsWithItsBudget() {
	s.Helper()
	since := len(s.up.Seen())
	resp := s.answered(s.ask("poor", "poor", s.run, fmt.Sprintf(s.tool, "echo done")))
	s.Want(resp, delegation.StatusError, delegation.ReasonBudget, 1)
	s.wantPrinted(resp, "budget")
	if m := resp.Usage.Model; m == nil || m.Requests != 1 || len(s.answers(since)) != 1 {
		s.Errorf("%+v was spent, by %q", m, s.answers(since))
	}
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "refused, because a budget is used up") {
		s.Errorf("it is warned of %q", resp.Warnings)
	}
}

// waits: the upstream has too much to do once.
func (s *stage) waits() {
	s.Helper()
	since := len(s.up.Seen())
	resp := s.answered(s.ask("busy", "client", s.run, "#once 429 1 patience"))
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.wantPrinted(resp, "You said: patience")
	if m := resp.Usage.Model; m == nil || m.Requests != 2 || m.OutputTokens != standin.OutputTokens {
		s.Errorf("%+v was spent, by %q", m, s.answers(since))
	}
}
