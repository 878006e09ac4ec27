package watcher

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox/sandboxtest"
)

// family has a parent, its child and its child's child run. The parent has the least time.
func (d *desk) family() (parent, child, grandchild ask) {
	d.Helper()
	over := filepath.Join(d.outbox, "workspaces", "p", "over")
	d.world.Register("until-over", func(ctx context.Context, _ sandboxtest.ProgramIO) int {
		for ctx.Err() == nil {
			if _, err := os.Stat(over); err == nil {
				return 0
			}
			_ = retry.Pause(ctx, time.Millisecond)
		}
		return 130
	})
	parent = d.submit(ask{id: "p", task: "until-over"})
	d.started(parent)
	child = d.submit(ask{id: "c", task: "sleep", parent: "p", timeout: 3600})
	d.started(child)
	grandchild = d.submit(ask{id: "g", task: "sleep", parent: "c", timeout: 3600})
	d.started(grandchild)
	return parent, child, grandchild
}

// orphaned wants a run to have ended because its parent has, and its client to be told how that one ended.
func (d *desk) orphaned(a ask, why delegation.Reason) {
	d.Helper()
	resp := d.response(a)
	d.want(resp, delegation.StatusCancelled, delegation.ReasonParentEnded, -1)
	if want := delegation.EndedWithParent(a.parent, why); len(resp.Warnings) == 0 || resp.Warnings[len(resp.Warnings)-1] != want {
		d.Errorf("%s is told %q, want %q", a.id, resp.Warnings, want)
	}
}

// TestARunEndsWithItsParent (O56): whatever ended the parent.
func TestARunEndsWithItsParent(t *testing.T) {
	for name, c := range map[string]struct {
		end func(d *desk, parent ask)
		why delegation.Reason
	}{
		"a cancel":      {func(d *desk, _ ask) { d.touch("cancel_p") }, delegation.ReasonCancelled},
		"a client":      {func(d *desk, _ ask) { d.remove("request_p.json") }, delegation.ReasonClientGone},
		"an operator":   {func(d *desk, _ ask) { _, err := d.operator().Cancel(t0(), "p"); d.must(err) }, delegation.ReasonOperator},
		"its own end":   {func(d *desk, p ask) { d.drop(p.workspace, "over", nil) }, delegation.ReasonExited},
		"its successor": {func(d *desk, _ ask) { d.submit(ask{id: "p", request: "r2", task: "sleep"}) }, delegation.ReasonSuperseded},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			parent, child, grandchild := d.family()
			other := d.submit(ask{id: "other", task: "sleep"})
			d.started(other)
			c.end(d, parent)
			d.orphaned(child, c.why)
			d.orphaned(grandchild, delegation.ReasonParentEnded)
			if d.latest("other").State == delegation.StateEnded {
				t.Error("a run without that parent has ended too")
			}
		})
	}
}

func TestARunEndsWithTheTimeOfItsParent(t *testing.T) {
	d := newDesk(t, nil)
	parent, child, grandchild := d.family()
	d.overtime()
	d.want(d.response(parent), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	d.orphaned(child, delegation.ReasonDeadline)
	d.orphaned(grandchild, delegation.ReasonParentEnded)
}

// TestARunThatWaitsEndsWithItsParent: it takes no place first.
func TestARunThatWaitsEndsWithItsParent(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	d.started(d.submit(ask{id: "p", task: "sleep"}))
	child := d.submit(ask{id: "c", task: "echo never", parent: "p"})
	d.eventually("the child waits", func() bool { return d.status("c").State == delegation.StateQueued })
	if s := d.status("c"); s.ParentID != "p" || s.Depth != 2 {
		t.Errorf("its status says %+v", s)
	}
	d.touch("cancel_p")
	d.orphaned(child, delegation.ReasonCancelled)
	if n := len(d.world.Released()); n != 1 {
		t.Errorf("%d sandboxes were released", n)
	}
}

// TestAWatcherDiesBetweenAParentAndItsChild (O56): the parent ends while no watcher is there, or had ended before.
func TestAWatcherDiesBetweenAParentAndItsChild(t *testing.T) {
	for name, before := range map[string]bool{"ended before": true, "ends meanwhile": false} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			_, child, grandchild := d.family()
			key := d.latest("p").Key
			d.crash()
			if before {
				d.endInJournal(key)
			}
			d.remove("request_p.json")
			d.open()
			d.orphaned(child, delegation.ReasonClientGone)
			d.orphaned(grandchild, delegation.ReasonParentEnded)
		})
	}
}

// TestARunThatWaitsIsTakenUpBelowItsParent: it stands where it stood when it was admitted, and its parent is gone by now.
func TestARunThatWaitsIsTakenUpBelowItsParent(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	d.started(d.submit(ask{id: "p", task: "sleep"}))
	child := d.submit(ask{id: "c", task: "sleep", parent: "p"}) // it may begin before the watcher has seen that its parent has ended
	d.eventually("the child waits", func() bool { return d.status("c").State == delegation.StateQueued })
	d.crash()
	d.remove("request_p.json")
	d.open()
	d.orphaned(child, delegation.ReasonClientGone)
}

// endInJournal has the journal say that a run has ended, as a watcher does that dies right after it.
func (d *desk) endInJournal(key string) {
	d.Helper()
	j, err := journal.Open(t0(), d.state+"/journal.db")
	d.must(err)
	d.must(j.Move(t0(), key, delegation.StateRunning, delegation.StateEnded, journal.Change{Reason: delegation.ReasonClientGone, Answered: true}))
	d.must(j.Close())
}

// TestAParentIsARunAndNoName (O57): a child of an earlier run is none of the one that has the name now, and the other way round.
func TestAParentIsARunAndNoName(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].MaxRunning = 8, 8 })
	first := d.submit(ask{id: "p", request: "r1", task: "sleep"})
	d.started(first)
	old := d.submit(ask{id: "old", task: "ignore-term", parent: "p"})
	d.started(old)
	second := d.submit(ask{id: "p", request: "r2", task: "sleep"})
	d.orphaned(old, delegation.ReasonSuperseded)
	d.started(second)
	child := d.submit(ask{id: "c", task: "sleep", parent: "p", timeout: 3600})
	d.started(child)
	if got, want := d.latest("c").Descent, (journal.Descent{Parent: "p", Run: d.latest("p").Key, Depth: 2}); got != want {
		t.Errorf("the child's place is %+v, want %+v", got, want)
	}
	d.touch("cancel_p")
	d.orphaned(child, delegation.ReasonCancelled)
}

// TestAParentOfAnotherOutboxIsNobody (O57).
func TestAParentOfAnotherOutboxIsNobody(t *testing.T) {
	var elsewhere string
	d := newDesk(t, func(c *Config) {
		elsewhere = t.TempDir()
	})
	d.stop()
	d.config.Outboxes = append(d.config.Outboxes, d.settings("elsewhere", elsewhere))
	d.open()
	other := d.submit(ask{id: "p", task: "sleep", outbox: elsewhere})
	d.eventually("the other one runs", func() bool { return len(d.world.Released()) == 1 })
	child := d.submit(ask{id: "c", task: "sleep", parent: "p", timeout: 3600})
	d.started(child)
	d.must(os.WriteFile(filepath.Join(elsewhere, "cancel_p"), nil, 0o644))
	d.want(d.response(other), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if got := d.latest("c"); got.State != delegation.StateRunning || got.Descent != (journal.Descent{Parent: "p", Depth: 1}) {
		t.Errorf("the child of a stranger is %s, %+v", got.State, got.Descent)
	}
}

// TestParentsThatAreNone (O57).
func TestParentsThatAreNone(t *testing.T) {
	d := newDesk(t, nil)
	for _, free := range []string{"p@host", "agent_a", "ghost"} { // words for the records
		d.want(d.response(d.submit(ask{id: "free-" + free[:1], task: "echo", parent: free})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
	refused := func(a ask, text string) {
		t.Helper()
		resp := d.response(d.submit(a))
		if resp.Error == nil || resp.Error.Code != delegation.CodeParent || resp.Error.Field != "parent_id" || !strings.Contains(resp.StderrTail, text) {
			t.Errorf("%s is told %+v, %q", a.id, resp.Error, resp.StderrTail)
		}
	}
	refused(ask{id: "self", task: "echo", parent: "self"}, "its own parent")
	d.response(d.submit(ask{id: "over", task: "echo"}))
	refused(ask{id: "late", task: "echo", parent: "over"}, "has ended")
	refused(ask{id: "self", request: "again", task: "echo", parent: "self"}, "its own parent")
}

// TestACircleOfParents (O57): the last of them to be read closes none.
func TestACircleOfParents(t *testing.T) {
	d := newDesk(t, nil)
	d.stop()
	a := d.submit(ask{id: "a", task: "sleep", parent: "b"})
	b := d.submit(ask{id: "b", task: "sleep", parent: "a"})
	d.open()
	d.started(a)
	d.started(b)
	above, below := d.latest("a"), d.latest("b")
	if above.Descent.Run != "" {
		above, below = below, above
	}
	if above.Descent.Run != "" || below.Descent.Run != above.Key {
		t.Fatalf("%+v and %+v", above.Descent, below.Descent)
	}
	d.touch("cancel_" + above.Subagent.String())
	d.want(d.response(ask{id: below.Subagent.String()}), delegation.StatusCancelled, delegation.ReasonParentEnded, -1)
}

// TestRequestsInAnyOrder (O58): a listing finds children before their parents, each file system in an order of its own.
func TestRequestsInAnyOrder(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].Queue = 64 })
	d.stop()
	const chains = 8
	for i := range chains {
		d.submit(ask{id: numbered("a", i), task: "sleep"})
		d.submit(ask{id: numbered("b", i), task: "sleep", parent: numbered("a", i)})
		d.submit(ask{id: numbered("c", i), task: "sleep", parent: numbered("b", i)})
	}
	d.open()
	for i := range chains {
		d.eventually("all are admitted", func() bool {
			_, known, err := d.journal.Latest(t0(), d.box("main"), mustID(d, numbered("c", i)))
			d.must(err)
			return known
		})
		a, b, c := d.latest(numbered("a", i)), d.latest(numbered("b", i)), d.latest(numbered("c", i))
		if b.Descent.Run != a.Key || c.Descent.Run != b.Key || c.Descent.Depth != 3 {
			t.Errorf("%+v, %+v, %+v", a.Descent, b.Descent, c.Descent)
		}
	}
}

// TestATreeIsBounded (O59): both bounds are named.
func TestATreeIsBounded(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].MaxRunning = 8, 8 })
	_, child, grandchild := d.family()
	d.started(d.submit(ask{id: "c2", task: "sleep", parent: "p"}))
	for id, parent := range map[string]string{"c3": "p", "deeper": "g"} {
		resp := d.response(d.submit(ask{id: id, task: "echo", parent: parent}))
		if resp.Error == nil || resp.Error.Code != delegation.CodeTreeLimit || !strings.Contains(resp.StderrTail, "the limit is 2") || !strings.Contains(resp.StderrTail, "the limit is 3") {
			t.Errorf("%s is told %+v, %q", id, resp.Error, resp.StderrTail)
		}
	}
	again := d.submit(ask{id: "c2", request: "r2", task: "sleep", parent: "p"}) // in the place of the earlier one
	d.started(again)
	d.touch("cancel_c")
	d.response(child)
	d.orphaned(grandchild, delegation.ReasonCancelled)
	d.started(d.submit(ask{id: "c4", task: "sleep", parent: "p"})) // there is a place again
}

// TestTheEndOfAWatcherIsNoEndOfAParent: what waits is told that the watcher stops, and what runs is drained, also below what waited.
func TestTheEndOfAWatcherIsNoEndOfAParent(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Shutdown.Drain, c.Outboxes[0].QueueBusy = true, true })
	before := d.submit(ask{id: "before", task: "lines 100 0.01"})
	d.started(before)
	parent := d.submit(ask{id: "p", task: "echo", workspace: before.workspace})
	d.eventually("the parent waits", func() bool { return d.status("p").State == delegation.StateQueued })
	child := d.submit(ask{id: "c", task: "lines 100 0.01", parent: "p"})
	d.started(child)
	d.stop()
	d.want(d.response(parent), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	d.want(d.response(child), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
