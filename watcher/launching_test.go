package watcher

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/hang"
)

// shortGrace has what does not return be left soon, and not what only waits for a processor.
func shortGrace(c *Config) { c.Timing.Grace = time.Second }

// stuck is where a launcher's call does not return.
type stuck struct {
	reached, let chan struct{}
	free         func()
}

// hangIn has the next n calls of a step hang, before or after their work is done.
func (d *desk) hangIn(op sandboxtest.Op, n int, done bool) stuck {
	h := stuck{reached: make(chan struct{}, n), let: make(chan struct{})}
	h.free = sync.OnceFunc(func() { close(h.let) })
	var mu sync.Mutex
	hook := func() {
		mu.Lock()
		n--
		hangs := n >= 0
		mu.Unlock()
		if hangs {
			h.reached <- struct{}{}
			<-h.let
		}
	}
	if done {
		d.world.After(op, hook)
	} else {
		d.world.Before(op, hook)
	}
	d.Cleanup(h.free)
	return h
}

// TestAHungLaunchHoldsNoCancel has each call of a launcher hang before the release, its work done or not. The cancel is answered,
// the slot is free, clients are told of the launcher, and what the call has made is removed when it returns. Nothing of it ran.
func TestAHungLaunchHoldsNoCancel(t *testing.T) {
	for _, op := range []sandboxtest.Op{sandboxtest.OpCreate, sandboxtest.OpStart, sandboxtest.OpOpen, sandboxtest.OpAttest} {
		for name, done := range map[string]bool{"before": false, "after": true} {
			t.Run(string(op)+"/"+name, func(t *testing.T) {
				d := newDesk(t, func(c *Config) { shortGrace(c); c.MaxRunning = 1 })
				stuck := d.hangIn(op, 1, done)
				a := d.submit(ask{id: "s1", task: "echo never"})
				<-stuck.reached
				d.touch("cancel_s1")
				d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
				told := d.watcher.notices.Of("main")
				if len(told) != 1 || told[0].Code != delegation.NoticeLauncher {
					t.Errorf("clients are told %v", told)
				}
				d.want(d.response(d.submit(ask{id: "s2", task: "echo hello"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
				if d.watcher.runs.Hung() != 1 {
					t.Error("no call was left behind")
				}
				stuck.free()
				d.eventually("the call is back", func() bool { return d.watcher.runs.Hung() == 0 })
				d.empty()
				if n := len(d.watcher.notices.Of("main")); n != 0 || len(d.world.Released()) != 1 {
					t.Errorf("%d notices stand, and %v ran", n, d.world.Released())
				}
				d.onceEach()
			})
		}
	}
}

// TestHungLaunchesAreFew: when so many calls of an outbox hang, nothing is launched for it until one returns. Another outbox is
// served meanwhile.
func TestHungLaunchesAreFew(t *testing.T) {
	d := newDesk(t, shortGrace)
	d.stop()
	other := d.newOutbox("other")
	d.config.Outboxes = append(d.config.Outboxes, d.settings("other", other))
	d.open()
	stuck := d.hangIn(sandboxtest.OpCreate, hang.Most, false)
	var asks []ask
	for i := range hang.Most {
		a := d.submit(ask{id: numbered("s", i), task: "echo never"})
		<-stuck.reached
		d.touch("cancel_" + a.id)
		asks = append(asks, a)
	}
	for _, a := range asks {
		d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	}
	calls := d.world.Calls(sandboxtest.OpCreate)
	resp := d.response(d.submit(ask{id: "more", task: "echo never"}))
	d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if !strings.Contains(resp.StderrTail, "a call of the launcher did not return") || d.world.Calls(sandboxtest.OpCreate) != calls {
		t.Errorf("it says %q, and %d calls were made", resp.StderrTail, d.world.Calls(sandboxtest.OpCreate)-calls)
	}
	d.want(d.response(d.submit(ask{id: "else", task: "echo hello", outbox: other})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	stuck.free()
	d.eventually("the calls are back", func() bool { return d.watcher.runs.Hung() == 0 })
	d.want(d.response(d.submit(ask{id: "again", task: "echo hello"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.empty()
}

// TestAShutdownAnswersWhatHangs, and says that a call, and what it may make, is left to the next start, which removes it.
func TestAShutdownAnswersWhatHangs(t *testing.T) {
	d := newDesk(t, shortGrace)
	stuck := d.hangIn(sandboxtest.OpCreate, 1, true)
	a := d.submit(ask{id: "s1", task: "echo never"})
	<-stuck.reached
	d.kill()
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	owed, ok := errors.AsType[*OwedError](d.result)
	if !errors.Is(d.result, ErrLeftBehind) || !ok || owed.Responses != 0 || owed.Sandboxes != 1 {
		t.Errorf("it ended with %v", d.result)
	}
	stuck.free()
	d.eventually("the call is back", func() bool { return d.watcher.runs.Hung() == 0 })
	d.must(d.journal.Close())
	if left := d.world.Sandboxes(); len(left) != 1 {
		t.Errorf("the call has made %v", left)
	}
	d.open()
	d.empty()
	if slices.ContainsFunc(d.world.Released(), func(sandbox.SandboxID) bool { return true }) {
		t.Error("something ran")
	}
}
