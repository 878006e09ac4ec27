package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// TestAnAgentGoesOn: a second run of the same subagent, under another watcher, knows what was said in the first, and what a cancelled
// one was told. It works in the same workspace, and counts its own tokens alone. What is kept can be listed, exported and removed, and
// what is not kept is refused with the next step.
func TestAnAgentGoesOn(t *testing.T) {
	eachOf(t, []client{claude, codex, codexServer}, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		ask := func(id, request, session, task string) house.Ask {
			return house.Ask{ID: id, Request: request, Profile: "example", Context: []string{s.installed}, Timeout: 120, Session: session, Task: task}
		}
		first := s.Response(s.Submit(ask("talk", "first", "", fmt.Sprintf(c.tool, "echo blue-$((40+2)) | tee made.txt"))))
		s.Want(first, delegation.StatusCompleted, delegation.ReasonExited, 0)
		if !strings.HasPrefix(first.SessionID, "session-") || len(first.Warnings) > 0 {
			t.Fatalf("the session is %q; %q", first.SessionID, first.Warnings)
		}
		stopped := s.Submit(ask("talk", "second", first.SessionID, fmt.Sprintf(c.tool, waits)))
		s.began(stopped)
		s.Signal(syscall.SIGKILL)
		s.Touch("cancel_talk")
		s.Start()
		if resp := s.Response(stopped); resp.Status != delegation.StatusCancelled || resp.SessionID != first.SessionID {
			t.Errorf("the cancelled run: %s, session %q; %q", resp.Status, resp.SessionID, resp.Warnings)
		}
		before := len(s.up.Seen())
		third := ask("talk", "third", delegation.SessionLast, "what-was-the-colour")
		resp := s.Response(s.Submit(third))
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.knows(s.up.Seen()[before:], "blue-42", "touch began", "what-was-the-colour")
		if resp.SessionID != first.SessionID {
			t.Errorf("the session is %q, and was %q", resp.SessionID, first.SessionID)
		}
		most := int64(standin.OutputTokens)
		if c.Name == codex.Name && !c.talks {
			most *= 2 // it adds what the cancelled turn has used, which nobody was told; the first turn's is not in it
		}
		if used := of(s.Told(third), delegation.EventUsage); len(used) != 1 || used[0].Tokens.Output > most {
			t.Errorf("it used %+v", used)
		}
		s.managesSessions(first.SessionID)
		gone := s.Response(s.Submit(ask("talk", "fourth", first.SessionID, "again")))
		s.Want(gone, delegation.StatusError, delegation.ReasonRefused, -1)
		if gone.Error == nil || gone.Error.Code != delegation.CodeSession || gone.Error.Hint == "" {
			t.Errorf("a session that is gone: %+v", gone.Error)
		}
	})
}

// TestAnAgentGoesOnInItsCopy: what it has made is in its own copy of the parent's directory, there it goes on under another watcher, and
// the parent takes the work when it wants to.
func TestAnAgentGoesOnInItsCopy(t *testing.T) {
	eachOf(t, []client{claude, codex}, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		project := s.Mkdir(s.Path("workspaces/project"))
		s.Must(os.WriteFile(filepath.Join(project, "given.txt"), []byte("red-7\n"), 0o644))
		ask := func(request, session, command string) house.Ask {
			return house.Ask{
				ID: "talk", Request: request, Profile: "copied", Workspace: project, Context: []string{s.installed}, Timeout: 120, Session: session,
				Task: fmt.Sprintf(c.tool, command),
			}
		}
		first := s.Response(s.Submit(ask("first", "", "cat given.txt >made.txt")))
		s.Want(first, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.Signal(syscall.SIGKILL)
		s.Start()
		second := s.Response(s.Submit(ask("second", delegation.SessionLast, "echo blue-$((40+2)) >>made.txt; cat made.txt")))
		s.Want(second, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.knows(s.up.Seen(), "cat given.txt") // what it was told in the first run
		if second.SessionID != first.SessionID {
			t.Errorf("the session is %q, and was %q", second.SessionID, first.SessionID)
		}
		if s.Exists("workspaces/project/made.txt") {
			t.Error("it has written in the original")
		}
		if out, err := exec.Command(house.Program("subagent"), "--outbox", s.Outbox, "apply", "talk").CombinedOutput(); err != nil {
			t.Errorf("subagent apply: %v: %s", err, out)
		}
		if made := s.Read(filepath.Join(project, "made.txt")); made != "red-7\nblue-42\n" {
			t.Errorf("the parent has %q", made)
		}
	})
}

// knows: the model was sent what was said before.
func (s *stage) knows(seen []standin.Seen, texts ...string) {
	s.Helper()
	if len(seen) == 0 {
		s.Fatal("the model was not asked")
	}
	body := string(seen[len(seen)-1].Body)
	for _, text := range texts {
		if !strings.Contains(body, text) {
			s.Errorf("the model was not told %q: %.2000s", text, body)
		}
	}
}

// managesSessions: the operator sees the session, has a copy, and removes it.
func (s *stage) managesSessions(id string) {
	s.Helper()
	watcher := func(args ...string) string {
		out, err := exec.Command(house.Program("watcher"), append(args, "--state", s.State)...).Output()
		s.Must(err)
		return string(out)
	}
	var kept struct {
		ID      string `json:"session_id"`
		Agent   string
		Version string `json:"agent_version"`
		Runs    int
		Size    int
	}
	s.Must(json.Unmarshal([]byte(watcher("sessions", "list", "--json")), &kept))
	if kept.ID != id || kept.Agent != s.Agent.Name || kept.Runs != 3 || kept.Version == "" {
		s.Errorf("kept is %+v", kept)
	}
	if copied := watcher("sessions", "export", id); len(copied) != kept.Size || !strings.HasPrefix(copied, "\x1f\x8b") {
		s.Errorf("the copy has %d bytes, and the session %d", len(copied), kept.Size)
	}
	watcher("sessions", "remove", id)
	if left, err := filepath.Glob(filepath.Join(s.State, "sessions", "*.session")); err != nil || len(left) > 0 {
		s.Errorf("left are %q, %v", left, err)
	}
}
