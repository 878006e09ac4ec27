package client

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"torno/test/attack"
)

// TestAnswerThatIsATrap: whatever a child leaves in the place of its answer, its parent learns how the run ended, reads
// nothing that the trap leads to, and is told what it is.
func TestAnswerThatIsATrap(t *testing.T) {
	links := &attack.Trial{Row: "W1", Where: "manager", Oracle: true}
	pipes := &attack.Trial{Row: "W2", Where: "manager", Oracle: true}
	others := &attack.Trial{Row: "W3", Where: "manager", Oracle: true}
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			s := newScene(t)
			s.spawn()
			if !s.spring(trap, s.answer()) {
				t.Skip("NOT SHOWN HERE: a device cannot be made")
			}
			trial := others
			switch {
			case strings.Contains(trap.name, "link"):
				trial = links
			case trap.name == "FIFO":
				trial = pipes
			}
			s.score(trial, func() bool { return s.falls(s.answer()) }, func() bool { return s.unharmed(trap.says) })
		})
	}
	for _, trial := range []*attack.Trial{links, pipes, others} {
		attack.Record(t, *trial)
	}
}

// score notes one try: the careless one falls, and ours does not.
func (s *scene) score(trial *attack.Trial, falls, holds func() bool) {
	s.Helper()
	trial.Tried++
	if !falls() {
		trial.Oracle = false
		s.Error("the oracle is dead: a careless client does not fall for this")
	}
	if holds() {
		trial.Held++
	}
}

// unharmed takes the result and says whether it is the true one, without an answer, and with a word about why.
func (s *scene) unharmed(says string) bool {
	s.Helper()
	s.respond()
	result := s.wait()
	switch {
	case result.StdoutTail != "the truth" || !result.Completed():
		s.Errorf("the result is %+v", result)
	case result.Answer != "":
		s.Errorf("it read %.100q", result.Answer)
	case result.AnswerErr == nil || !strings.Contains(result.AnswerErr.Error(), says):
		s.Errorf("it says %v, want %q", result.AnswerErr, says)
	default:
		return true
	}
	return false
}

// TestAnswerOfTenGigabytes costs what its beginning costs.
func TestAnswerOfTenGigabytes(t *testing.T) {
	s := newScene(t)
	s.spawn()
	s.must(tenGB(s, s.answer()))
	trial := &attack.Trial{Row: "W4", Where: "manager", Oracle: true}
	s.score(trial, func() bool { return s.falls(s.answer()) }, func() bool {
		s.respond()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result := s.wait()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("it took %d bytes of memory", took)
		}
		return len(result.Answer) == 1<<20 && result.AnswerTruncated && result.AnswerErr == nil && !t.Failed()
	})
	attack.Record(t, *trial)
}

// TestWorkspaceThatWasExchanged: an earlier child had a directory above, and put a link into it.
func TestWorkspaceThatWasExchanged(t *testing.T) {
	trial := &attack.Trial{Row: "W8", Where: "manager", Oracle: true}
	for name, what := range map[string]func(s *scene) string{
		"a directory on the way to the answer": func(s *scene) string { return filepath.Dir(s.answer()) },
		"the workspace":                        func(s *scene) string { return s.run.Workspace() },
		"all workspaces":                       func(s *scene) string { return filepath.Dir(s.run.Workspace()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.spawn()
			exchanged := what(s)
			below, err := filepath.Rel(exchanged, s.answer())
			s.must(err)
			elsewhere := filepath.Join(s.base, "elsewhere")
			s.must(os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, below)), 0o755), os.WriteFile(filepath.Join(elsewhere, below), []byte(secret), 0o600))
			s.must(os.Rename(exchanged, exchanged+".aside"), os.Symlink(elsewhere, exchanged))
			s.score(trial, func() bool { return s.falls(s.answer()) }, func() bool { return s.unharmed("not a directory but a symbolic link") })
		})
	}
	attack.Record(t, *trial)
}
