package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"torno/delegation"
)

// TestAScanStaysOnItsThread, however much else goes on.
func TestAScanStaysOnItsThread(t *testing.T) {
	s := scanOf(t)
	threads, asked := map[int]bool{}, 0
	s.costs.meters.Thread = func() time.Duration {
		threads[unix.Gettid()] = true
		asked++
		return 0
	}
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 500 { // each costs a turn of the scheduler
		name := delegation.CancelName(parsed(t, i))
		if err := s.Dir.Publish(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	var over sync.WaitGroup
	over.Go(func() { s.run(ctx) })
	for s.Dir.Names(ctx, 10, func(names []string) error {
		if len(names) > 0 {
			runtime.Gosched()
			return context.Canceled
		}
		return nil
	}) != nil {
	}
	cancel()
	over.Wait()
	if len(threads) != 1 || asked < 100 {
		t.Errorf("it asked %d times, on %d threads", asked, len(threads))
	}
}

// parsed is the id of a subagent.
func parsed(t *testing.T, n int) delegation.SubagentID {
	t.Helper()
	id, err := delegation.ParseSubagentID(fmt.Sprint("s", n))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestADirectoryThatWasMovedAndIsBackIsWatched: its notifications ended with the move, also if no look at its place has met that.
func TestADirectoryThatWasMovedAndIsBackIsWatched(t *testing.T) {
	s := scanOf(t)
	t.Cleanup(s.notify.close)
	if !s.subscribe() {
		t.Fatal("nothing is watched")
	}
	dir := s.Dir.Path()
	stray := filepath.Join(dir, "stray")
	if err := errors.Join(os.WriteFile(stray, nil, 0o600), os.Remove(stray)); err != nil {
		t.Fatal(err)
	}
	for event := range s.notify.events() {
		s.event(t.Context(), event)
		if event.Has(fsnotify.Remove) {
			break
		}
	}
	if s.notify.silent || s.lookAtPlace() {
		t.Error("a file that is gone ends the notifications")
	}
	if err := errors.Join(os.Rename(dir, dir+".away"), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	s.event(t.Context(), <-s.notify.events())
	if !s.notify.silent {
		t.Error("the scan believes that the notifications go on")
	}
	if !s.lookAtPlace() || s.notify.silent {
		t.Fatal("it is not watched again")
	}
	if err := s.Dir.Publish("cancel_s1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for event := range s.notify.events() {
		if filepath.Base(event.Name) == "cancel_s1" {
			return
		}
	}
}
