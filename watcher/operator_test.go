package watcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

func (d *desk) operator() *Operator {
	return &Operator{Journal: d.journal, Watcher: d.watcher, History: d.config.Events}
}

func TestARunIsFoundByEveryOfItsNames(t *testing.T) {
	d := newDesk(t, nil)
	d.response(d.submit(ask{id: "s1", request: "r1", task: "echo one"}))
	d.response(d.submit(ask{id: "s1", request: "r2", task: "echo two"}))
	newest := d.latest("s1")
	for _, ref := range []string{"s1", "main/s1", newest.Key, newest.Key[:6]} {
		if run, err := d.operator().Run(t.Context(), ref); err != nil || run.Key != newest.Key {
			t.Errorf("%q is %s, %v; want %s", ref, run.Key, err, newest.Key)
		}
	}
	for _, ref := range []string{"", "s2", "other/s1", "main/", newest.Key[:3], newest.Key + "0"} {
		if run, err := d.operator().Run(t.Context(), ref); !errors.Is(err, control.ErrNoRun) {
			t.Errorf("%q is %s, %v", ref, run.Key, err)
		}
	}
}

func TestASubagentOfTwoOutboxesIsAmbiguous(t *testing.T) {
	d := newDesk(t, nil)
	second := d.newOutbox("second")
	d.stop()
	d.config.Outboxes = append(d.config.Outboxes, d.settings("second", second))
	d.open()
	d.response(d.submit(ask{id: "s1", task: "echo"}))
	d.submit(ask{id: "s1", task: "sleep", outbox: second})
	d.eventually("the second one runs", func() bool {
		run, err := d.operator().Run(t.Context(), "second/s1")
		return err == nil && run.State == delegation.StateRunning
	})
	_, err := d.operator().Cancel(t.Context(), "s1")
	if !errors.Is(err, control.ErrAmbiguous) || !strings.Contains(err.Error(), "second/s1") || !strings.Contains(err.Error(), "main/s1") {
		t.Errorf("cancel s1 is %v", err)
	}
	run, err := d.operator().Cancel(t.Context(), "second/s1")
	if err != nil || run.Reason != delegation.ReasonOperator {
		t.Errorf("cancel second/s1 is %+v, %v", run, err)
	}
}

// TestAKeyIsNoSubagentsName: a parent names subagents after the key of a run, so that the operator's cancel misses the run. The whole
// key still finds the run, and the operator is told that the key's beginning fits several runs.
func TestAKeyIsNoSubagentsName(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "escapes", task: "sleep"})
	d.started(a)
	key := d.latest("escapes").Key
	for _, decoy := range []string{key, key[:12]} {
		d.response(d.submit(ask{id: decoy, task: "echo"}))
	}
	if run, err := d.operator().Cancel(t.Context(), key[:12]); !errors.Is(err, control.ErrAmbiguous) {
		t.Errorf("cancel of the beginning of its key is %+v, %v", run, err)
	}
	if run, err := d.operator().Cancel(t.Context(), key); err != nil || run.Subagent != "escapes" || run.Reason != delegation.ReasonOperator {
		t.Errorf("cancel of its key is %+v, %v", run, err)
	}
}

// heard collects what an operator sees of a run.
func (d *desk) heard(ctx context.Context, ref string, follow bool) map[sandbox.Stream]string {
	d.Helper()
	seen := map[sandbox.Stream]string{}
	d.must(d.operator().Output(ctx, ref, follow, func(o control.Output) error {
		seen[o.Stream] += string(o.Bytes)
		return nil
	}))
	return seen
}

func TestAFollowerWaitsWithARunThatWaits(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	first := d.submit(ask{id: "first", task: "sleep"})
	d.started(first)
	d.submit(ask{id: "next", task: "lines 3 0.01"})
	d.eventually("next waits", func() bool { return d.exists("status_next.json") })
	if seen := d.heard(t.Context(), "next", false); len(seen) != 0 {
		t.Errorf("a run that waits has said %v", seen)
	}
	go d.touch("cancel_first")
	seen := d.heard(t.Context(), "next", true)
	if seen[sandbox.Stdout] != "line 1\nline 2\nline 3\n" || seen[sandbox.Stderr] != "" {
		t.Errorf("the follower saw %q", seen)
	}
	d.eventually("it is recorded", func() bool { return d.latest("next").State == delegation.StateEnded })
	if again := d.heard(t.Context(), "next", true); again[sandbox.Stdout] != seen[sandbox.Stdout] {
		t.Errorf("afterwards there is %q", again)
	}
}

func TestAFollowerMayLeave(t *testing.T) {
	d := newDesk(t, nil)
	d.started(d.submit(ask{id: "s1", task: "sleep"}))
	ctx, leave := context.WithCancel(t.Context())
	err := d.operator().Output(ctx, "s1", true, func(o control.Output) error {
		leave()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if run := d.latest("s1"); run.State != delegation.StateRunning {
		t.Errorf("the run is %s", run.State)
	}
}

// TestAnOperatorWhoDoesNotReadStopsNobody: one follower is stuck at its first line, and the child's output goes on, past
// what the launcher keeps. Who comes then sees what is left, and that something is missing.
func TestAnOperatorWhoDoesNotReadStopsNobody(t *testing.T) {
	d := newDesk(t, nil)
	told, stuck, free := make(chan struct{}), make(chan struct{}), make(chan struct{})
	d.world.Register("flood-when-told", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		fmt.Fprintln(p.Stdout, "ready")
		<-told
		p.Stdout.Write(bytes.Repeat([]byte("0123456789abcde\n"), 1<<19))
		fmt.Fprintln(p.Stderr, "the end")
		<-ctx.Done()
		return 1
	})
	d.started(d.submit(ask{id: "s1", task: "flood-when-told"}))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	var once sync.Once
	go func() {
		defer close(left)
		d.operator().Output(ctx, "s1", true, func(control.Output) error {
			once.Do(func() { close(stuck) })
			<-free
			return nil
		})
	}()
	<-stuck
	close(told)
	d.eventually("the end is heard", func() bool { return d.heard(t.Context(), "s1", false)[sandbox.Stderr] == "the end\n" })
	var gap bool
	d.must(d.operator().Output(t.Context(), "s1", false, func(o control.Output) error {
		gap = gap || o.Gap
		return nil
	}))
	if !gap {
		t.Error("nobody says that something is missing")
	}
	leave()
	close(free)
	<-left
}

// TestAQueuedRunShowsItsPosition: what an operator is shown is a view of where the run stands.
func TestAQueuedRunShowsItsPosition(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	d.started(d.submit(ask{id: "s1", task: "sleep"}))
	second, third := d.submit(ask{id: "s2", task: "echo"}), d.submit(ask{id: "s3", task: "echo"})
	d.eventually("both wait", func() bool {
		runs, err := d.operator().Runs(t.Context(), control.Query{})
		d.must(err)
		positions := make(map[string]int)
		for _, r := range runs {
			positions[r.Subagent] = r.Position
		}
		return positions["s1"] == 0 && positions["s2"]+positions["s3"] == 3
	})
	d.touch("cancel_s1")
	d.response(second)
	d.response(third)
}
