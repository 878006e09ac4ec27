package clients

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// send is `subagent send`.
func (s *stage) send(words ...string) {
	s.Helper()
	out, err := exec.Command(house.Program("subagent"), append([]string{"--outbox", s.Outbox, "send"}, words...)...).CombinedOutput()
	if err != nil {
		s.Errorf("subagent send %q: %v\n%s", words, err, out)
	}
}

// TestAMessageReachesAnAgent in the middle of what it does, once, also where the watcher is killed before the agent has acknowledged it.
func TestAMessageReachesAnAgent(t *testing.T) {
	eachThatTalks(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		a := s.Submit(house.Ask{ID: "a", Profile: "example", Context: []string{s.installed}, Timeout: 120, Task: fmt.Sprintf(s.tool, waits)})
		s.began(a)
		s.send("a", "--", "the first message")
		s.Signal(syscall.SIGKILL)
		s.Start()
		s.send("a", "--", "the second message")
		s.Touch("workspaces/a/go")
		s.Want(s.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		seen := s.up.Seen()
		asked := string(seen[len(seen)-1].Body)
		for _, text := range []string{"the first message", "the second message"} {
			if n := strings.Count(asked, text); n != 1 { // agents hand what comes during a turn to their model with a tool's result
				t.Errorf("the model was told %q %d times", text, n)
			}
		}
		var said []string
		for _, e := range of(s.Told(a), delegation.EventMessage) {
			said = append(said, e.Text)
		}
		if got := strings.Join(said, "; "); got != "the first message; the second message" {
			t.Errorf("its events have the messages %q", got)
		}
	})
}

// TestAnInterruptStopsAnAgent: what it does ends, and what comes with the interrupt is its next turn.
func TestAnInterruptStopsAnAgent(t *testing.T) {
	eachThatTalks(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		a := s.Submit(house.Ask{ID: "a", Profile: "example", Context: []string{s.installed}, Timeout: 120, Task: fmt.Sprintf(s.tool, waits)})
		b := s.Submit(house.Ask{ID: "b", Profile: "example", Context: []string{s.installed}, Timeout: 120, Task: fmt.Sprintf(s.tool, waits)})
		s.began(a)
		s.send("a", "--interrupt", "--", "something else")
		s.began(b)
		s.send("b", "--interrupt")
		s.Want(s.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if answer := s.Read(a.Answer); answer != "You said: something else" {
			t.Errorf("the answer is %q", answer)
		}
		s.Want(s.Response(b), delegation.StatusError, delegation.ReasonExited, 1)
		s.Touch("workspaces/a/go")
		if got := len(of(s.Told(b), delegation.EventInterrupt)); got != 1 {
			t.Errorf("its events have %d interrupts", got)
		}
	})
}
