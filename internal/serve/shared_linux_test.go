package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/internal/journal"
	"torno/internal/lock"
	"torno/test/attack"
)

// asFromAnotherRuntime takes away what only watchers with our runtime directory see.
func (s *shop) asFromAnotherRuntime() {
	s.Helper()
	info, err := os.Stat(s.config.Outboxes[0].Dir)
	s.must(err)
	stat := info.Sys().(*syscall.Stat_t)
	s.must(os.Remove(filepath.Join(lock.RuntimeDir(), fmt.Sprintf("%x-%x.lock", stat.Dev, stat.Ino))))
}

// runsOf counts the runs of a subagent that a journal knows.
func (s *shop) runsOf(id string) int {
	s.Helper()
	j, err := journal.OpenReadOnly(s.Context(), filepath.Join(s.config.State, JournalName))
	s.must(err)
	defer j.Close()
	runs, err := j.Named(s.Context(), "", id)
	s.must(err)
	return len(runs)
}

// TestTwoWatchersOfTwoRuntimeDirectories have one outbox between them, as watchers of two users have. The second serves
// what is its own, names the first, and takes the shared one when that is gone. The oracle: the lock in the runtime
// directory lets it in.
func TestTwoWatchersOfTwoRuntimeDirectories(t *testing.T) {
	one, two := newShop(t), newShop(t)
	first := one.open()
	one.asFromAnotherRuntime()
	shared := one.config.Outboxes[0]
	shared.Name = "shared"
	two.config.Outboxes = append(two.config.Outboxes, shared)
	trial := attack.Trial{Row: "H13", Where: "fake, two runtime directories", Tried: 1}
	second := two.open()
	trial.Oracle = true // it is let in
	named := fmt.Sprintf("another watcher serves %s: process %d,", shared.Dir, os.Getpid())
	two.eventually("the holder is named", func() bool { return strings.Contains(two.said.String(), named) })
	one.ask("both", "echo once")
	one.answer("both")
	two.ask("own", "echo own")
	two.answer("own")
	if n := one.runsOf("both") + two.runsOf("both"); n == 1 {
		trial.Held++
	} else {
		t.Errorf("the request ran %d times", n)
	}

	one.must(os.Remove(filepath.Join(shared.Dir, "request_both.json")))
	one.signals <- syscall.SIGTERM
	one.end(first)
	two.eventually("it is taken when it is free", func() bool { return strings.Contains(two.said.String(), "the outbox is served again") })
	two.eventually("what lay there is looked through", func() bool { return strings.Contains(two.said.String(), "was looked through") })
	one.ask("later", "echo later")
	one.answer("later")
	if two.runsOf("later") != 1 {
		t.Error("the second one did not run it")
	}
	two.signals <- syscall.SIGTERM
	two.end(second)
	attack.Record(t, trial)
}
