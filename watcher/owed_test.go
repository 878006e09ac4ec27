package watcher

import (
	"errors"
	"testing"
	"time"

	"torno/sandbox/sandboxtest"
)

// impatient has a shutdown give up at once. It leaves no time for what it can do.
func impatient(c *Config) {
	c.Shutdown.Budget, c.Timing.Last, c.Timing.Leave = time.Millisecond, time.Millisecond, patience
}

// failAlways has every call of an operation fail.
func (d *desk) failAlways(op sandboxtest.Op) {
	for nth := range 1000 {
		d.world.Fail(op, nth+1, errAway)
	}
}

// leave stops the watcher, and returns what it owes.
func (d *desk) leave() *OwedError {
	d.Helper()
	d.returns("the shutdown", d.kill, d.watcher.endLife)
	defer d.journal.Close()
	d.stop = func() {}
	owed, ok := errors.AsType[*OwedError](d.result)
	if !ok {
		d.Fatalf("the watcher ended with %v, as if it owed nothing", d.result)
	}
	return owed
}

// TestAShutdownThatLeavesASandboxSaysSo: the sandbox cannot be removed.
func TestAShutdownThatLeavesASandboxSaysSo(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Timing.Last, c.Timing.Leave = patience, patience })
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.failAlways(sandboxtest.OpRemove)
	stop, w := d.kill, d.watcher
	d.kill = func() {
		over := make(chan struct{})
		go func() { defer close(over); stop() }()
		d.ended(a) // all that it can do
		w.endLife()
		<-over
	}
	if owed := d.leave(); owed.Sandboxes != 1 || owed.Responses != 0 {
		t.Errorf("it says %v", owed)
	}
}

// TestAShutdownThatOwesAnAnswerSaysSo: the child cannot be ended.
func TestAShutdownThatOwesAnAnswerSaysSo(t *testing.T) {
	d := newDesk(t, impatient)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.failAlways(sandboxtest.OpSignal)
	d.failAlways(sandboxtest.OpRemove)
	if owed := d.leave(); owed.Sandboxes != 1 || owed.Responses != 1 {
		t.Errorf("it says %v", owed)
	}
}

// TestAShutdownThatKeepsOwesNothing: it was told to.
func TestAShutdownThatKeepsOwesNothing(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Shutdown.Keep = true })
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.stop()
}
