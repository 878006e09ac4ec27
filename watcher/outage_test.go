package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// errAway is the error of a launcher that does not answer.
var errAway = fmt.Errorf("in the way: %w", sandbox.ErrUnavailable)

// outages are the ways in which a step of the fake goes wrong.
var outages = map[string]func(*sandboxtest.World, sandboxtest.Op, int){
	"the launcher does not answer":                 func(w *sandboxtest.World, op sandboxtest.Op, nth int) { w.Fail(op, nth, errAway) },
	"the launcher has done it and does not say so": func(w *sandboxtest.World, op sandboxtest.Op, nth int) { w.FailAfter(op, nth, errAway) },
	"it takes too long":                            func(w *sandboxtest.World, op sandboxtest.Op, nth int) { w.Fail(op, nth, context.DeadlineExceeded) },
	"it has taken too long and is done by itself":  func(w *sandboxtest.World, op sandboxtest.Op, nth int) { w.FailAfter(op, nth, context.DeadlineExceeded) },
}

func TestAnOutageAtEachStepIsWaitedOut(t *testing.T) {
	for name, fail := range outages {
		for _, op := range []sandboxtest.Op{sandboxtest.OpCreate, sandboxtest.OpStart, sandboxtest.OpOpen, sandboxtest.OpWait, sandboxtest.OpRemove} {
			t.Run(name+"/"+string(op), func(t *testing.T) {
				d := newDesk(t, nil)
				fail(d.world, op, 1)
				fail(d.world, op, 2)
				a := d.submit(ask{id: "s1", task: "echo hello"})
				resp := d.response(a)
				d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
				if resp.StdoutTail != "hello\n" {
					t.Errorf("the output is %q", resp.StdoutTail)
				}
				d.onceEach()
				d.eventually("the step is done", func() bool { return d.world.Calls(op) >= 3 })
				d.empty()
				if n := d.world.Calls(op); n > 4 {
					t.Errorf("%d calls to %s", n, op)
				}
				d.eventually("nobody is told of trouble", func() bool { return len(d.watcher.notices.Of("main")) == 0 })
			})
		}
	}
}

// TestAnOutageWhileAWatcherStartsIsWaitedOut: what an earlier watcher left is not known before the launcher has said it.
func TestAnOutageWhileAWatcherStartsIsWaitedOut(t *testing.T) {
	for name, fail := range outages {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated"})
			d.started(a)
			d.crash()
			asked := d.world.Calls(sandboxtest.OpList)
			fail(d.world, sandboxtest.OpList, 1)
			fail(d.world, sandboxtest.OpList, 2)
			d.open()
			if n := d.world.Calls(sandboxtest.OpList) - asked; n != 3 {
				t.Errorf("the list was asked for %d times", n)
			}
			release()
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.onceEach()
		})
	}
}

// TestAWatcherThatWaitsForItsLauncherCanBeStopped: it waits on for its budget, and then says why it has taken up
// nothing.
func TestAWatcherThatWaitsForItsLauncherCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin, w := time.Now(), waiting(t)
		w.config.Shutdown.Budget = time.Minute
		longer, end := outlive(ctx, w.recoveryBudget)
		defer end()
		_, err := (&recovery{Watcher: w}).list(longer, "fake", absent{})
		if !errors.Is(err, sandbox.ErrUnavailable) || time.Since(begin) != time.Hour+time.Minute {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

// absent is a launcher that does not come back.
type absent struct{ sandbox.Launcher }

func (absent) List(context.Context) ([]sandbox.Handle, error) { return nil, errAway }

// TestWhoeverWaitsForALauncherIsHeard: a cancel and a deadline count while the launcher is away, and nothing is said before the
// sandbox is known to be gone.
func TestWhoeverWaitsForALauncherIsHeard(t *testing.T) {
	d := newDesk(t, nil)
	for nth := range 8 {
		d.world.Fail(sandboxtest.OpCreate, nth+1, errAway)
	}
	reached, free := make(chan struct{}, 64), make(chan struct{})
	d.world.Before(sandboxtest.OpList, func() { reached <- struct{}{}; <-free })
	a := d.submit(ask{id: "s1", task: "echo never"})
	d.eventually("it waits", func() bool { return slices.ContainsFunc(d.watcher.notices.Of("main"), isLauncher) })
	d.touch("cancel_s1")
	<-reached // it gave up, and looks for what the calls may have left
	if d.exists("response_s1.json") {
		t.Error("it is answered although nobody knows what runs")
	}
	close(free)
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	d.empty()
}

func isLauncher(n delegation.Notice) bool { return n.Code == delegation.NoticeLauncher }

// waiting is a watcher of which only the waiting is used.
func waiting(t *testing.T) *Watcher {
	w := New(Config{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(w.endLife)
	return w
}

// TestARunEndsHoweverLongItCannotBeEnded: no signal arrives, and the sandbox can be removed only after some time. The news
// of its end may not come either.
func TestARunEndsHoweverLongItCannotBeEnded(t *testing.T) {
	for name, silent := range map[string]bool{"the end is seen": false, "nobody tells of the end": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Timing.Kill, c.Timing.Gone = 20*time.Millisecond, 20*time.Millisecond })
			if silent {
				d.wrap = func(l sandbox.Launcher) sandbox.Launcher { return deaf{l} }
				d.stop()
				d.open()
			}
			a := d.submit(ask{id: "s1", task: "sleep"})
			d.started(a)
			for nth := range 5 {
				d.world.Fail(sandboxtest.OpSignal, nth+1, errAway)
				d.world.Fail(sandboxtest.OpRemove, nth+1, errAway)
			}
			d.touch("cancel_s1")
			d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
			if n := d.world.Calls(sandboxtest.OpRemove); n < 6 {
				t.Errorf("it was removed with %d calls", n)
			}
			d.empty()
		})
	}
}

// deaf is a launcher whose attachments never tell of the end.
type deaf struct{ sandbox.Launcher }

func (l deaf) Open(ctx context.Context, h sandbox.Handle, c sandbox.Cursor) (sandbox.Attachment, error) {
	a, err := l.Launcher.Open(ctx, h, c)
	if err != nil {
		return nil, err
	}
	return deafTo{a}, nil
}

type deafTo struct{ sandbox.Attachment }

func (deafTo) Wait(ctx context.Context) (sandbox.Exit, error) {
	<-ctx.Done()
	return sandbox.Exit{}, ctx.Err()
}
