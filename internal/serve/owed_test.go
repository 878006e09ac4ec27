package serve

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"torno/configs"
	"torno/delegation"
	"torno/internal/lock"
	"torno/watcher"
)

// TestWhatAnEarlierWatcherLeftIsOwed by a watcher that was told to stop before it began: nothing where none has run, where it is to
// keep what runs, where another one has the state directory, and when all is answered.
func TestWhatAnEarlierWatcherLeftIsOwed(t *testing.T) {
	s := newShop(t)
	nothing := func(when string) {
		t.Helper()
		if err := owed(s.config); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	nothing("no watcher has run")
	before := s.config.Shutdown.Running
	s.config.Shutdown.Running = configs.Keep
	ended := s.open()
	release := s.running("s1")
	s.signals <- syscall.SIGTERM
	s.end(ended)
	nothing("what runs is to be kept")
	s.config.Shutdown.Running = before
	if e, ok := errors.AsType[*watcher.OwedError](owed(s.config)); !ok || e.Sandboxes != 1 || !errors.Is(e, errNotTakenUp) {
		t.Errorf("a run was left: %v", e)
	}
	other, err := lock.State(s.config.State, "another one")
	s.must(err)
	nothing("another watcher has it")
	s.must(other.Unlock())

	s.signals = make(chan os.Signal, 8)
	s.said.reset()
	ended = s.open()
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the run that was left: %+v", r)
	}
	s.stop(ended)
	nothing("all is answered")
}

// TestWhatIsOwedBehindTheLockIsSaid: a watcher is stopped while it opens its launchers, when it has the lock of the state directory.
func TestWhatIsOwedBehindTheLockIsSaid(t *testing.T) {
	s := newShop(t)
	before := s.config.Shutdown.Running
	s.config.Shutdown.Running = configs.Keep
	ended := s.open()
	release := s.running("s1")
	defer release()
	s.signals <- syscall.SIGTERM
	s.end(ended)
	s.config.Shutdown.Running = before
	s.signals = make(chan os.Signal, 8)
	s.beforeOpen = func(ctx context.Context) error {
		s.signals <- syscall.SIGTERM
		<-ctx.Done()
		return ctx.Err()
	}
	if _, ok := errors.AsType[*watcher.OwedError](Run(t.Context(), s.options())); !ok {
		t.Error("it does not say what it owes")
	}
}
