package gvisor_test

import (
	"testing"
	"time"

	"torno/sandbox/gvisor/keeper"
	"torno/test/wait"
)

// TestAnInitThatItsAgentKills: under gVisor nothing keeps the agent from it. The sandbox ends as a whole, as by that signal, and
// never as the agent would have it.
func TestAnInitThatItsAgentKills(t *testing.T) {
	y := newYard(t)
	h := y.create("/bin/sh", "-c", `sleep 1000 & setsid sleep 1000 & kill -KILL 1; exec sleep 1000`)
	y.begin(h)
	if exit := y.wait(h); exit.Code != 137 || exit.Unknown || exit.OutOfMemory {
		t.Errorf("it ended with %+v", exit)
	}
	y.nothingRuns(h.ID)
}

// TestAnInitThatItsAgentStops can end neither its agent nor itself any more. The keeper's backstop ends the sandbox, with no watcher
// there. That the agent's own code is not told shows that init was stopped.
func TestAnInitThatItsAgentStops(t *testing.T) {
	y := newYard(t)
	h := y.create("/bin/sh", "-c", `setsid sleep 1000 & kill -STOP 1; exit 7`)
	const allowed, after = 2 * time.Second, time.Second
	box := y.box(h.ID)
	order, err := keeper.Box{Dir: box}.Order()
	if err == nil {
		order.Allowed, order.Grace = allowed, after
		err = keeper.WriteOrder(box, order)
	}
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	y.begin(h)
	exit := y.wait(h)
	if took := time.Since(begin); exit.Code != 137 || exit.Unknown || took < allowed+after {
		t.Errorf("after %s it ended with %+v", took, exit)
	}
	y.nothingRuns(h.ID)
}

// nothingRuns waits until no process of a sandbox is left, its keeper included.
func (y *yard) nothingRuns(id string) {
	y.t.Helper()
	var left map[int]string
	defer func() {
		if len(left) > 0 {
			y.t.Logf("left are %v", left)
		}
	}()
	wait.Until(y.t, "no process of it is left", func() bool {
		left = running(y.t, y.box(id))
		return len(left) == 0
	})
}
