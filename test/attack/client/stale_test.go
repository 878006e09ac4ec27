package client

import (
	"os"
	"strings"
	"testing"

	"torno/delegation"
	"torno/manager"
	"torno/test/attack"
	"torno/test/house"
)

// TestWhatIsOfAnEarlierRun: the same subagent runs again, with a host that leaves everything where it was.
func TestWhatIsOfAnEarlierRun(t *testing.T) {
	trial := &attack.Trial{Row: "W7", Where: "manager", Oracle: true}
	s := newScene(t)
	s.spawn()
	s.must(os.WriteFile(s.answer(), []byte(planted), 0o600))
	earlier := s.run
	s.respond()
	s.wait()
	for range attack.Times(20, 1000) {
		s.spawn()
		s.publish("response_s1.json", s.encoded(response(earlier.RequestID(), planted)))
		s.publish("status_s1.json", s.encoded(delegation.RunStatus{Version: 1, SubagentID: "s1", RequestID: earlier.RequestID(), State: delegation.StateEnded}))
		s.score(trial, func() bool { return s.falls(s.path("response_s1.json")) && s.falls(s.answer()) }, func() bool {
			result := s.waitTold(s.respond)
			return result.Answer == "" && result.StdoutTail == "the truth" && result.AnswerErr == nil
		})
		earlier = s.run
	}
	attack.Record(t, *trial)
}

// waitTold waits, and does something once the wait has begun. It fails where the run looked ended before.
func (s *scene) waitTold(then func()) manager.Result {
	s.Helper()
	began := false
	result, err := s.run.WaitWithUpdates(s.Context(), func(p manager.WaitUpdate) {
		if p.State == delegation.StateEnded {
			s.Error("it believes the status of an earlier run")
		}
		if !began {
			began = true
			then()
		}
	})
	s.must(err)
	s.must(s.run.Acknowledge(result))
	return result
}

// TestWhatIsOfAnEarlierRunOnAnEngine: the second run of a subagent writes no answer.
func TestWhatIsOfAnEarlierRunOnAnEngine(t *testing.T) {
	h := house.New(t, house.Plan{})
	client, err := manager.New(h.Outbox, manager.Options{})
	h.Must(err)
	defer client.Close()
	run := func(task string) (naive string, result manager.Result) {
		h.Helper()
		run, err := client.Spawn(t.Context(), manager.SpawnOptions{ID: "s1", Task: task, Workspace: h.Mkdir(h.Path("workspaces/s1"))})
		h.Must(err)
		data, _ := os.ReadFile(h.Path("workspaces/s1/answer.txt")) // a client that does not wait for anything
		result, err = run.Wait(t.Context())
		h.Must(err)
		h.Must(run.Acknowledge(result))
		return string(data), result
	}
	if _, first := run("echo first"); first.Answer != "first\n" {
		t.Fatalf("the first run ended as %+v", first)
	}
	naive, second := run("exit 3")
	trial := attack.Trial{Row: "W7", Where: "docker", Tried: 1, Oracle: strings.Contains(naive, "first")}
	if !strings.Contains(second.Answer, "first") && second.ExitCode == 3 {
		trial.Held++
	}
	attack.Record(t, trial)
}
