package outbox

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"torno/delegation"
	"torno/watcher/run"
)

// TestAStormOfEventsLeavesTheCoreToOthers sends events, and then overflows, as fast as they are taken, in a time in which
// each costs ten milliseconds: those of a scheduler, or of a log, that take their time.
func TestAStormOfEventsLeavesTheCoreToOthers(t *testing.T) {
	for name, send := range map[string]func(context.Context, *fsnotify.Watcher){
		"events": func(ctx context.Context, w *fsnotify.Watcher) {
			select {
			case w.Events <- fsnotify.Event{Name: "request_s1.json"}:
			case <-ctx.Done():
			}
		},
		"overflows": func(ctx context.Context, w *fsnotify.Watcher) {
			select {
			case w.Errors <- fsnotify.ErrEventOverflow:
			case <-ctx.Done():
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { sendFor(t, time.Minute, send) }) })
	}
}

func sendFor(t *testing.T, long time.Duration, send func(context.Context, *fsnotify.Watcher)) {
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	costs := new(slow)
	notify := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
	s := newScan(newBox(t, Host{Life: ctx, Runs: slowRuns{costs: costs}, Log: slog.New(costs)}, Settings{}))
	s.notify.from = notify
	s.costs.meters.Thread = costs.spent // the bubble's clock moves, and no processor
	var others sync.WaitGroup
	others.Go(func() {
		for ctx.Err() == nil {
			send(ctx, notify)
		}
	})
	s.run(ctx)
	others.Wait()
	if spent := costs.spent(); spent > long/eventShare+eventBurst || spent < long/eventShare {
		t.Errorf("they cost %s of a minute", spent)
	}
}

// slowRuns are none, and say so slowly.
type slowRuns struct {
	runs  // nothing else is asked
	costs *slow
}

func (s slowRuns) Newest(context.Context, string, delegation.SubagentID) *run.Run {
	s.costs.take()
	return nil
}

// slow takes its time, and is a log.
type slow struct{ times atomic.Int64 }

const slowness = 10 * time.Millisecond

func (l *slow) take() {
	l.times.Add(1)
	<-time.After(slowness)
}

func (l *slow) spent() time.Duration { return time.Duration(l.times.Load()) * slowness }

func (l *slow) Enabled(context.Context, slog.Level) bool { return true }
func (l *slow) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *slow) WithGroup(string) slog.Handler            { return l }

func (l *slow) Handle(context.Context, slog.Record) error {
	l.take()
	return nil
}
