package watcher

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// stillborn runs a watcher that is told to stop before it begins, and returns what it ended with.
func (d *desk) stillborn() error {
	d.Helper()
	var err error
	d.journal, err = journal.Open(t0(), filepath.Join(d.state, "journal.db"))
	d.must(err)
	defer d.journal.Close()
	d.config.Journal = d.journal
	d.config.Launchers = map[string]sandbox.Launcher{sandboxtest.LauncherName: d.world.Launcher(d.journal.Installation())}
	ctx, cancel := context.WithCancel(t0())
	cancel()
	return New(d.config).Run(ctx)
}

// TestAWatcherThatIsToldToStopAtOnceOwesNothing: it ends what an earlier one left, and answers what waited there.
func TestAWatcherThatIsToldToStopAtOnceOwesNothing(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	running := d.submit(ask{id: "running", task: "sleep"})
	d.started(running)
	waiting := d.submit(ask{id: "waiting", task: "echo"})
	d.eventually("the second one waits", func() bool { return d.exists("status_waiting.json") })
	gone := d.submit(ask{id: "gone", task: "echo"})
	d.eventually("the third one waits", func() bool { return d.exists("status_gone.json") })
	d.crash()
	d.remove("request_gone.json")
	if err := d.stillborn(); err != nil {
		t.Error("it ended with", err)
	}
	for _, a := range []ask{running, waiting} {
		d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	}
	if d.exists("response_gone.json") {
		t.Error("a request that is gone was answered")
	}
	d.open()
	if r := d.ended(gone); r.Reason != delegation.ReasonClientGone {
		t.Errorf("the one whose request is gone ended as %s", r.Reason)
	}
	d.empty()
}

// TestWhatHasEndedIsAnsweredWithoutALauncher by a watcher that is told to stop while it waits for that site.
func TestWhatHasEndedIsAnsweredWithoutALauncher(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	over := d.submit(ask{id: "over", task: "sleep"})
	d.started(over)
	d.submit(ask{id: "waiting", task: "echo"})
	d.eventually("the second one waits", func() bool { return d.exists("status_waiting.json") })
	record := d.latest("over")
	d.crash()
	j := d.openJournal()
	d.must(j.Move(t0(), record.Key, record.State, delegation.StateEnded, journal.Change{
		Reason: delegation.ReasonExited, ExitCode: new(int), Ended: time.Now(),
	}))
	d.must(j.Close())
	asked := d.world.Calls(sandboxtest.OpList)
	d.world.Fail(sandboxtest.OpList, 1, errAway)
	d.world.Fail(sandboxtest.OpList, 2, context.Canceled) // the time for stopping is over
	if err := d.stillborn(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v, as if it took everything up", err)
	}
	if n := d.world.Calls(sandboxtest.OpList) - asked; n != 2 {
		t.Errorf("the list was asked for %d times", n)
	}
	d.want(d.response(over), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if d.exists("response_waiting.json") {
		t.Error("a run was answered of which nobody knows whether it has a sandbox")
	}
}
