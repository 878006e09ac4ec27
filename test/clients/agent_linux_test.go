package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// of are the events of a type.
func of(events []delegation.Event, kind delegation.EventType) (found []delegation.Event) {
	for _, e := range events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// waits is a command that ends when its workspace has a file.
const waits = "touch began; while ! test -e go; do sleep 0.02; done; echo from-$((40+2))"

// TestAnAgentTellsWhatItDoes: as the profile of our examples has it, each thing that it does is one event, its last word is the answer,
// and a failure is told as one. A watcher that is killed while a tool works doubles and loses nothing.
func TestAnAgentTellsWhatItDoes(t *testing.T) {
	eachOf(t, []client{claude, codex, codexServer}, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		ask := func(id, task string, timeout int) house.Ask {
			return house.Ask{ID: id, Profile: "example", Context: []string{s.installed}, Timeout: timeout, Task: task}
		}
		tool := s.Submit(ask("tool", fmt.Sprintf(c.tool, waits), 120))
		fails := s.Submit(ask("fails", "#status 400", 120))
		poor := ask("poor", fmt.Sprintf(c.tool, "echo done"), 120)
		poor.Profile = "spent"
		poor = s.Submit(poor)
		cancelled := s.Submit(ask("cancelled", fmt.Sprintf(c.tool, waits), 120))
		late := s.Submit(ask("late", fmt.Sprintf(c.tool, waits), 8))
		s.began(tool)
		s.began(cancelled)
		s.Signal(syscall.SIGKILL)
		s.Touch("workspaces/tool/go")
		s.Touch("cancel_cancelled")
		s.Start()
		s.Want(s.Response(tool), delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.tellsOfATool(tool)
		s.tellsOfAFailure(fails)
		s.Want(s.Response(poor), delegation.StatusError, delegation.ReasonBudget, 1)
		if resp := s.Response(cancelled); resp.Status != delegation.StatusCancelled {
			t.Errorf("the response says %s, %s", resp.Status, resp.Reason)
		}
		if resp := s.Response(late); resp.Status != delegation.StatusTimeout {
			t.Errorf("the response says %s, %s", resp.Status, resp.Reason)
		}
	})
}

// began waits until the model's command runs.
func (s *stage) began(a house.Ask) {
	s.Helper()
	s.Eventually("the command of "+a.ID+" runs", func() bool {
		_, err := os.Stat(filepath.Join(a.Workspace, "began"))
		return err == nil
	})
}

func (s *stage) tellsOfATool(a house.Ask) {
	s.Helper()
	events := s.Told(a)
	calls, results, said := of(events, delegation.EventToolCall), of(events, delegation.EventToolResult), of(events, delegation.EventText)
	if len(calls) != 1 || !strings.Contains(string(calls[0].Tool.Input), "touch began") {
		s.Errorf("it called %+v", calls)
	}
	if len(results) != 1 || results[0].Failed || !strings.Contains(results[0].Text, "from-42") || results[0].Tool.ID != calls[0].Tool.ID {
		s.Errorf("the tool gave back %+v", results)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0].Text, "The tool said:") || said[0].Text != s.Read(a.Answer) {
		s.Errorf("it said %+v, and answered %q", said, s.Read(a.Answer))
	}
	if used := of(events, delegation.EventUsage); len(used) == 0 || used[len(used)-1].Tokens.Output != 2*standin.OutputTokens {
		s.Errorf("it used %+v", used)
	}
	if ends := of(events, delegation.EventResult); len(ends) != 1 || ends[0].Failed {
		s.Errorf("it ended with %+v", ends)
	}
	if odd := slices.Concat(of(events, delegation.EventStdout), of(events, delegation.EventRaw)); len(odd) > 0 {
		s.Errorf("its adapter does not know %+v", odd)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) && e.Type != delegation.EventGap {
			s.Errorf("event %d is number %d", e.Seq, i+1)
		}
	}
}

func (s *stage) tellsOfAFailure(a house.Ask) {
	s.Helper()
	s.Want(s.Response(a), delegation.StatusError, delegation.ReasonExited, 1)
	if ends := of(s.Told(a), delegation.EventResult); len(ends) != 1 || !ends[0].Failed || !strings.Contains(ends[0].Text, "told to answer so") {
		s.Errorf("it ended with %+v", ends)
	}
	if _, err := os.Lstat(a.Answer); err == nil {
		s.Errorf("it has answered %q", s.Read(a.Answer))
	}
}
