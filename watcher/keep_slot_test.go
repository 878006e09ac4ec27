package watcher

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/run"
)

// sticky is a launcher that removes nothing while it is stuck.
type sticky struct {
	sandbox.Launcher
	stuck, refused atomic.Bool
}

var errStuck = errors.New("the device is busy")

func (s *sticky) Remove(ctx context.Context, h sandbox.Handle) error {
	if s.stuck.Load() {
		s.refused.Store(true)
		return errStuck
	}
	return s.Launcher.Remove(ctx, h)
}

// newSticky is a desk with one place, and with a launcher that is stuck.
func newSticky(t *testing.T, change func(*Config)) (*desk, *sticky) {
	d := newDesk(t, func(c *Config) {
		c.MaxRunning = 1
		if change != nil {
			change(c)
		}
	})
	d.stop()
	s := &sticky{}
	s.stuck.Store(true)
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { s.Launcher = l; return s }
	d.open()
	d.Cleanup(func() { s.stuck.Store(false) })
	return d, s
}

// notice is what a watcher says with a code, "" where it says nothing.
func (d *desk) notice(code delegation.NoticeCode) string {
	for _, n := range d.watcher.notices.Of("main") {
		if n.Code == code {
			return n.Text
		}
	}
	return ""
}

// TestADeadSandboxHoldsNoPlace: its run is answered, and another one starts in the same workspace, while the sandbox cannot be removed.
func TestADeadSandboxHoldsNoPlace(t *testing.T) {
	d, s := newSticky(t, nil)
	first := d.submit(ask{id: "s1", task: "echo first"})
	d.want(d.response(first), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.remove("request_s1.json")
	second := d.submit(ask{id: "s2", task: "echo second", workspace: first.workspace})
	d.want(d.response(second), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.eventually("operators are told", func() bool { return d.notice(delegation.NoticeLeftovers) != "" })
	s.stuck.Store(false)
	d.empty()
	d.eventually("nobody is told any more", func() bool { return d.notice(delegation.NoticeLeftovers) == "" })
}

// TestAnAnswerWaitsForNoLeftovers of a sandbox that was never released and has ended.
func TestAnAnswerWaitsForNoLeftovers(t *testing.T) {
	d, s := newSticky(t, nil)
	d.world.Fail(sandboxtest.OpAttest, 1, &sandbox.DifferenceError{Differences: []sandbox.Difference{{What: "/workspace", Want: "1", Got: "2"}}})
	d.want(d.response(d.submit(ask{id: "s1", task: "echo"})), delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	d.want(d.response(d.submit(ask{id: "s2", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.stuck.Store(false)
	d.empty()
}

// TestASandboxThatMayLiveHoldsItsPlace: the run is not answered, holds place and workspace, and a notice names it.
func TestASandboxThatMayLiveHoldsItsPlace(t *testing.T) {
	for name, attended := range map[string]bool{"it does not take signals": true, "nobody watches it": false} {
		t.Run(name, func(t *testing.T) {
			d, s := newSticky(t, func(c *Config) { c.Outboxes[0].QueueBusy, c.Timing.Kill = true, 50*time.Millisecond })
			d.failAlways(sandboxtest.OpSignal)
			if !attended {
				d.world.FailAfter(sandboxtest.OpRelease, 1, errCut)
			}
			a := d.submit(ask{id: "s1", task: "sleep"})
			if attended {
				d.started(a)
				d.touch("cancel_s1")
			}
			d.eventually("its removal fails", s.refused.Load)
			d.eventually("a notice names it", func() bool { return strings.Contains(d.notice(delegation.NoticeSandbox), "s1") })
			other := d.submit(ask{id: "s2", task: "echo", workspace: a.workspace})
			d.eventually("the other one waits", func() bool { return d.exists("status_s2.json") })
			d.listed()
			if d.exists("response_s1.json") || d.exists("response_s2.json") {
				t.Error("something was answered while the child may live")
			}
			s.stuck.Store(false)
			if resp := d.response(a); resp.Status == delegation.StatusCompleted {
				t.Errorf("the response is %+v", resp)
			}
			d.want(d.response(other), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.eventually("the notice is gone", func() bool { return d.notice(delegation.NoticeSandbox) == "" })
			if shared := d.world.SharedWorkspaces(); len(shared) != 0 {
				t.Errorf("workspaces were shared: %v", shared)
			}
		})
	}
}

// TestLeftoversAreBounded: with too many of them the next run keeps its place.
func TestLeftoversAreBounded(t *testing.T) {
	d, s := newSticky(t, nil)
	for i := range run.MaxLeftovers {
		d.response(d.submit(ask{id: numbered("s", i), task: "echo"}))
	}
	d.response(d.submit(ask{id: "holds", task: "echo"}))
	last := d.submit(ask{id: "waits", task: "echo"})
	d.eventually("it waits", func() bool { return d.exists("status_waits.json") })
	d.eventually("a notice names the run that holds the place", func() bool { return strings.Contains(d.notice(delegation.NoticeSandbox), "holds") })
	if made := d.world.Sandboxes(); len(made) != run.MaxLeftovers+1 {
		t.Errorf("%d sandboxes were made", len(made))
	}
	s.stuck.Store(false)
	d.want(d.response(last), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.empty()
}

// TestARunIsMadeAnewBesideDeadLeftovers of the sandbox in which an earlier watcher was about to launch it.
func TestARunIsMadeAnewBesideDeadLeftovers(t *testing.T) {
	d, s := newSticky(t, nil)
	reached, never := make(chan struct{}), make(chan struct{})
	d.world.Before(sandboxtest.OpAttest, func() { close(reached); <-never })
	a := d.submit(ask{id: "s1", task: "echo hello"})
	<-reached
	d.world.Before(sandboxtest.OpAttest, nil)
	d.crash(func() { close(never) })
	d.hasExited()
	d.open()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	s.stuck.Store(false)
	d.empty()
}

// TestNoticesNameRuns, a few of them, and only to the clients of their outbox.
func TestNoticesNameRuns(t *testing.T) {
	d := newDesk(t, nil)
	n := d.watcher.notices
	ids := []string{"s1", "s2", "s3", "s4", "s5"}
	for _, id := range ids {
		held := n.FlagOf("main", mustID(d, id))
		held.Raise(delegation.NoticeSandbox, errStuck)
		defer held.Close()
	}
	all := n.Of("main")
	if len(all) != 1 || !strings.Contains(all[0].Text, "s1, s2, s3 and 2 more") {
		t.Errorf("the notices are %v", all)
	}
	if other := n.Of("second"); slices.ContainsFunc(other, func(n delegation.Notice) bool { return n.Code == delegation.NoticeSandbox }) {
		t.Errorf("another outbox is told: %v", other)
	}
}
