package clients

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// each has a story told by every client in a sandbox of every launcher.
func each(t *testing.T, story func(t *testing.T, c client, sandbox string)) {
	eachOf(t, []client{claude, codex}, story)
}

// eachThatTalks has a story told by every client that takes messages and asks.
func eachThatTalks(t *testing.T, story func(t *testing.T, c client, sandbox string)) {
	eachOf(t, []client{claude, codexServer}, story)
}

func eachOf(t *testing.T, clients []client, story func(t *testing.T, c client, sandbox string)) {
	for _, c := range clients {
		t.Run(c.label(), func(t *testing.T) {
			house.Each(t, func(t *testing.T, sandbox string) { story(t, c, sandbox) })
		})
	}
}

// TestAClientWorks: it runs commands in its sandbox, it ends with its budget, it waits where the upstream says so, and does not
// notice that its credential has changed.
func TestAClientWorks(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		tool := s.Submit(s.ask("tool", "client", c.run, fmt.Sprintf(c.tool, "echo from-$((40+2)) | tee made.txt")))
		poor := s.Submit(s.ask("poor", "poor", c.run, fmt.Sprintf(c.tool, "echo done")))
		short := s.Submit(s.ask("short", "short", c.run, "#steps\n"+fmt.Sprintf(c.tool, "echo one >>steps.txt")+"\n"+fmt.Sprintf(c.tool, "echo two >>steps.txt")+"\nnever said"))
		busy := s.Submit(s.ask("busy", "client", c.run, "#once 429 1 patience"))
		over := s.Submit(s.ask("over", "client", c.run, "#once 529 1 overload"))
		example := s.Submit(house.Ask{ID: "example", Profile: "example", Context: []string{s.installed}, Timeout: 120, Task: fmt.Sprintf(c.tool, "echo from-$((40+2)) | tee made.txt")})
		s.usesATool(s.Response(tool), "tool")
		s.usesATool(s.Response(example), "example")
		if answer := s.Read(example.Answer); !strings.HasPrefix(answer, "The tool said:") {
			t.Errorf("as our example has it, its answer is %q", answer)
		}
		if c.limit != "" && !slices.ContainsFunc(s.up.Seen(), func(seen standin.Seen) bool { return strings.Contains(string(seen.Body), c.limit) }) {
			t.Errorf("as our example has it, it asks for more than %s", c.limit)
		}
		s.endsWithItsBudget(s.Response(poor))
		s.endsWithAnAnswer(s.Response(short))
		s.waits(s.Response(busy), "patience")
		s.waits(s.Response(over), "overload")
		s.getsAnotherKey()
	})
}

// usesATool: the command's result goes to the model, whose answer is what the client prints. All of it was counted.
func (s *stage) usesATool(resp delegation.Response, id string) {
	s.Helper()
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.wantPrinted(resp, "The tool said:")
	s.wantPrinted(resp, "from-42")
	if made := s.Read(s.Outbox + "/workspaces/" + id + "/made.txt"); made != "from-42\n" {
		s.Errorf("the command has made %q", made)
	}
	if m := resp.Usage.Model; m == nil || m.Requests != 2 || m.InputTokens != 2*standin.InputTokens || m.OutputTokens != 2*standin.OutputTokens {
		s.Errorf("%+v was spent", m)
	}
}

// endsWithItsBudget: the client shows why, and ends by itself. Claude Code leaves out one part of its request after the other, at
// once, before it does.
func (s *stage) endsWithItsBudget(resp delegation.Response) {
	s.Helper()
	s.Want(resp, delegation.StatusError, delegation.ReasonBudget, 1)
	s.wantPrinted(resp, "is spent: 1 of 1 requests are used")
	if m := resp.Usage.Model; m == nil || m.Requests != 1 {
		s.Errorf("%+v was spent", m)
	}
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "refused, because a budget is used up") {
		s.Errorf("it is warned of %q", resp.Warnings)
	}
}

// endsWithAnAnswer: what is kept for the final answer pays for one. The model would have gone on, so that without it the client would
// have got an error.
func (s *stage) endsWithAnAnswer(resp delegation.Response) {
	s.Helper()
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.wantPrinted(resp, standin.WithoutTools)
	if made := s.Read(s.Outbox + "/workspaces/short/steps.txt"); made != "one\n" {
		s.Errorf("its steps are %q", made)
	}
	if m := resp.Usage.Model; m == nil || m.Requests != 2 {
		s.Errorf("%+v was spent", m)
	}
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "1 requests to the model used the part that is kept for the final answer") {
		s.Errorf("it is warned of %q", resp.Warnings)
	}
}

// waits: the upstream had too much to do once. That costs a request and no tokens.
func (s *stage) waits(resp delegation.Response, said string) {
	s.Helper()
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.wantPrinted(resp, "You said: "+said)
	if m := resp.Usage.Model; m == nil || m.Requests != 2 || m.OutputTokens != standin.OutputTokens {
		s.Errorf("%+v was spent", m)
	}
}

// getsAnotherKey: the credential is another one between two steps of a session. The client has seen neither.
func (s *stage) getsAnotherKey() {
	s.Helper()
	const next = "sk-stand-in-9876543210"
	a := s.Submit(s.ask("key", "client", s.run, fmt.Sprintf(s.tool, "touch began; while ! test -e go; do sleep 0.02; done; env")))
	s.Eventually("the command runs", func() bool {
		_, err := os.Stat(a.Workspace + "/began")
		return err == nil
	})
	s.up.Rotate(next)
	s.Must(os.WriteFile(s.key, []byte(next), 0o600))
	s.Touch("workspaces/key/go")
	resp := s.Response(a)
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.wantPrinted(resp, "HOME=/home/agent")
	for _, key := range []string{upstreamKey, next} {
		if strings.Contains(resp.StdoutTail+resp.StderrTail, key) {
			s.Errorf("the client knows a credential: %q, %q", resp.StdoutTail, resp.StderrTail)
		}
	}
	if seen := s.up.Seen(); !strings.Contains(fmt.Sprint(seen[len(seen)-1].Header), next) {
		s.Errorf("the upstream was not sent the new credential: %v", seen[len(seen)-1].Header)
	}
}

// TestAnAnswerComesInParts: the client has the first part while the upstream still holds back the rest. That the watcher is killed
// meanwhile it does not notice.
func TestAnAnswerComesInParts(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		rest := make(chan struct{})
		s := stageFor(t, c, sandbox, func(up *standin.Upstream) { up.Step = rest })
		a := s.Submit(s.ask("parts", "client", c.streams, "in-parts"))
		for range 2 { // the stand-in's first event needs no step; the third one has text
			rest <- struct{}{}
		}
		s.Says(a, c.part)
		s.Signal(syscall.SIGKILL)
		close(rest)
		s.Start()
		resp := s.Response(a)
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.wantPrinted(resp, "You said: in-parts")
		if m := resp.Usage.Model; m == nil || m.Requests != 1 || m.OutputTokens != standin.OutputTokens {
			t.Errorf("%+v was spent", m)
		}
	})
}
