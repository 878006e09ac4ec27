package watcher

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestATurnWaitsForNothingOfAParents: an outbox that hangs keeps the service manager from no sign of life.
func TestATurnWaitsForNothingOfAParents(t *testing.T) {
	var hangs atomic.Bool
	met, release := make(chan struct{}), make(chan struct{})
	meet := sync.OnceFunc(func() { close(met) })
	d := newDesk(t, func(c *Config) {
		c.Outboxes[0].Lock = func() error {
			if hangs.Load() {
				meet()
				<-release
			}
			return nil
		}
	})
	t.Cleanup(func() { close(release) })
	hangs.Store(true)
	<-met
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.watcher.Turn(ctx); err != nil {
		t.Error(err)
	}
}

// TestATurnNeedsTheSchedule: a loop that does not come round is no progress.
func TestATurnNeedsTheSchedule(t *testing.T) {
	d := newDesk(t, nil)
	still := New(d.config) // its loops do not run
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := still.Turn(ctx); err == nil {
		t.Error("a watcher whose loops stand still took a turn")
	}
}

// TestReadinessIsBehindTheFirstListing: an outbox that was not listed is named.
func TestReadinessIsBehindTheFirstListing(t *testing.T) {
	d := newDesk(t, nil)
	if err := d.watcher.AwaitListings(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(d.config).AwaitListings(ctx); err == nil || !strings.Contains(err.Error(), "main") {
		t.Errorf("of outboxes that were never listed it says %v", err)
	}
}
