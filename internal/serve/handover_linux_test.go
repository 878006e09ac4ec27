package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/configs"
)

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
