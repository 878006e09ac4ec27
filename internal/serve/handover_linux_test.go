package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/configs"
	"torno/internal/lock"
)

// TestAReloadHandsTheStateOver: at no moment between the hosts of one process a stranger gets the lock of the state, also where the new
// configuration cannot be served and the old one is opened again.
func TestAReloadHandsTheStateOver(t *testing.T) {
	s := newShop(t)
	next := s.config
	next.MaxRunning += 3
	opened, tried, got := 0, 0, 0
	s.beforeOpen = func(context.Context) error {
		if opened++; opened == 2 {
			return errors.New("the engine does not like it")
		}
		return nil
	}
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	release := s.running("s1")
	s.beforeReach = func() {
		tried++
		held, err := lock.State(s.config.State, "a stranger")
		if err == nil {
			got++
			s.must(held.Unlock())
		}
	}
	s.signals <- syscall.SIGHUP
	s.eventually("the old one serves on", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	s.signals <- syscall.SIGHUP
	s.eventually("the new configuration serves", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 3 })
	release()
	s.answer("s1")
	s.stop(ended)
	if got > 0 || tried < 5 {
		t.Errorf("a stranger got the state %d times of %d", got, tried)
	}
}

// TestAReloadHandsTheOutboxOver to the next host, and not to another watcher that waits for it: a child runs in there.
func TestAReloadHandsTheOutboxOver(t *testing.T) {
	one, two := newShop(t), newShop(t)
	slow := make(chan struct{})
	one.beforeOpen = func(ctx context.Context) error {
		select {
		case <-slow: // the second time: longer than a watcher takes to find a free outbox
			<-time.After(3 * 500 * time.Millisecond)
		default:
		}
		return nil
	}
	shared := one.config.Outboxes[0]
	one.must(os.MkdirAll(filepath.Join(shared.Dir, "workspaces"), 0o755))
	shared.Name = "shared"
	two.config.Outboxes = append(two.config.Outboxes, shared)
	next := one.config
	next.MaxRunning += 3
	one.reloads(func() (configs.Config, error) { return next, nil })
	one.asFromAnotherRuntime()
	two.open()
	release := one.running("s1")
	defer release()
	one.asFromAnotherRuntime()
	close(slow)
	one.signals <- syscall.SIGHUP
	one.eventually("the new configuration serves", func() bool { return strings.Count(one.said.String(), "msg=serving ") == 2 })
	if strings.Contains(two.said.String(), "the outbox is served again") || len(two.world.Released()) != 0 {
		t.Error("the other watcher got the outbox in the middle of the reload")
	}
	release()
	one.answer("s1")
	if ran := len(one.world.Released()) + len(two.world.Released()); ran != 1 {
		t.Errorf("%d agents ran", ran)
	}
}
