package crash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// What happens to the outbox, the journal and the configuration in a story.

// forbid takes the workspace's root out of the configuration.
func (s *scene) forbid() {
	text := strings.Replace(s.Read(s.Config), s.Outbox+"/workspaces", s.Dir+"/shared", 1)
	s.Must(os.WriteFile(s.Config, []byte(text), 0o600))
}

// dismiss takes the outbox out of the configuration, has another one in its place, and takes the request away.
func (s *scene) dismiss() {
	s.dismissed = true
	s.Mkdir(s.Outbox + ".other/workspaces")
	served := strings.ReplaceAll(s.Read(s.Config), s.Outbox, s.Outbox+".other")
	s.Must(os.WriteFile(s.Config, []byte(strings.Replace(served, "  main:\n", "  other:\n", 1)), 0o600))
	takeAway(s)
	s.dismissed = true
}

// loseJournal leaves an answered request behind and no record of it.
func loseJournal(s *scene) {
	s.Helper()
	s.Start()
	nonsense(s)
	s.Response(s.ask)
	s.Must(s.Signal(syscall.SIGTERM))
	s.Must(os.Remove(s.Path("response_s1.json"))) // what was answered keeps its answer
	files, err := filepath.Glob(filepath.Join(s.State, "journal.db*"))
	s.Must(err)
	for _, file := range files {
		s.Must(os.Remove(file))
	}
}

// mayHaveRun wants what lay there to be refused, and what comes after it not to be.
func mayHaveRun(s *scene) {
	s.Helper()
	s.Eventually("it is refused because nobody knows", func() bool {
		resp := s.Response(s.ask)
		return resp.Error != nil && resp.Error.Code == delegation.CodeJournalLost
	})
	s.Eventually("the outbox is looked through", func() bool { return strings.Contains(s.Said(), "was looked through") })
	s.ask = s.Submit(house.Ask{ID: "s1", Request: "anew", Task: hello})
	says("hello\n")(s)
}

// restore has a copy of the outbox in its place, as out of a backup.
func (s *scene) restore() {
	s.Must(os.Rename(s.Outbox, s.Outbox+".old"))
	if out, err := exec.Command("cp", "-a", s.Outbox+".old", s.Outbox).CombinedOutput(); err != nil {
		s.Fatalf("copy the outbox: %v: %s", err, out)
	}
}

// accept says that the copy is the outbox, as soon as there is a watcher to be told. That one may die of it.
func (s *scene) accept() error {
	for ctx, ticks := s.Context(), time.Tick(10*time.Millisecond); ; <-ticks {
		_, err := s.Client.Accept(ctx, "main", control.Same)
		if !errors.Is(err, control.ErrNoWatcher) {
			return err
		}
	}
}

// cancelledAside is the story of a run whose outbox's directory is not there: its operator ends it, and it is answered when the directory is known.
var cancelledAside = &story{
	before: func(s *scene) { killedInTheMiddle(s); s.restore() },
	during: func(s *scene) { go s.cancel() }, // the watcher dies of it
	done: func(s *scene) {
		if err := s.cancel(); err != nil && !errors.Is(err, control.ErrEnded) {
			s.Fatal(err)
		}
		s.Must(s.accept())
		ends(delegation.StatusCancelled, delegation.ReasonOperator)(s)
	},
}

// cancelledByOperator is the story of a run that its operator ends. The watcher dies of it, and the operator ends the run again.
var cancelledByOperator = &story{
	during: func(s *scene) { submit(long)(s); s.Says(s.ask, "hello"); go s.cancel() },
	done: func(s *scene) {
		if err := s.cancel(); err != nil && !errors.Is(err, control.ErrEnded) {
			s.Fatal(err)
		}
		ends(delegation.StatusCancelled, delegation.ReasonOperator)(s)
	},
}

// cancel ends the run as soon as there is a watcher to be told, and has looked.
func (s *scene) cancel() error {
	for ctx, ticks := s.Context(), time.Tick(10*time.Millisecond); ; <-ticks {
		_, err := s.Client.Cancel(ctx, "s1")
		if !errors.Is(err, control.ErrNoWatcher) && !errors.Is(err, control.ErrUntaken) {
			return err
		}
	}
}

// kept is how many runs the journal keeps when it has to be pruned, in pieces of 32.
const kept = 100

// tooMany leaves a run behind, and more behind it than are kept, all of them answered and taken away.
func tooMany(s *scene) {
	s.Helper()
	s.Start()
	submit(hello)(s)
	s.Response(s.ask)
	for i := range kept + 40 {
		s.refusable(fmt.Sprint("n", i))
	}
	for i := range kept + 40 {
		s.Eventually("all are answered", func() bool { return s.Exists(fmt.Sprintf("response_n%d.json", i)) })
		s.Must(os.Remove(s.Path(fmt.Sprintf("request_n%d.json", i))))
	}
	takeAway(s)
	nobodyIsAnswered(s)
	if err := s.Signal(syscall.SIGKILL); err == nil {
		s.Fatal("the watcher ended well when it was killed")
	}
	s.kills++
	text := strings.Replace(s.Read(s.Config), "\nlog:", fmt.Sprintf("\nretention: {runs: %d}\nlog:", kept), 1)
	s.Must(os.WriteFile(s.Config, []byte(text), 0o600))
}

// pruned wants what was pruned to be known as such: what comes back does not run again.
func pruned(s *scene) {
	s.Helper()
	s.Eventually("only what is to be kept is left", func() bool {
		runs, err := s.Client.Runs(s.Context(), control.Query{All: true, Limit: 2 * kept})
		s.Must(err)
		return len(runs) == kept
	})
	s.Submit(s.ask)
	resp := s.Response(s.ask)
	s.Want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeStale {
		s.Errorf("what ran long ago is answered %+v", resp.Error)
	}
}

// nobodyIsAnswered wants no trace of a run whose request is gone.
func nobodyIsAnswered(s *scene) {
	s.Helper()
	s.Eventually("nothing of the request is left", func() bool {
		left, err := filepath.Glob(s.Path("*s1*"))
		s.Must(err)
		return len(left) == 0
	})
}
