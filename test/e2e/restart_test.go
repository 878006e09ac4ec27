package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

func TestKilledBetweenLaunchAndResponse(t *testing.T) {
	h := house.New(t, house.Plan{})
	since := time.Now().Unix()
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; exec sleep 1000"})
	h.Says(a, "ready")
	installation := h.Installation()
	h.Signal(syscall.SIGKILL)
	if n := len(h.Engine.Containers(t, installation)); n != 1 {
		t.Fatalf("%d containers after the kill, want the orphan", n)
	}
	h.Start()
	h.Want(h.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
	if left := h.Engine.Containers(t, installation); len(left) != 0 {
		t.Errorf("orphans: %v", left)
	}
	h.Want(h.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	creates := 0
	for run, actions := range h.Engine.Events(t, installation, since, time.Now().Unix()+1) {
		if len(run) == 32 && slices.Contains(actions, "create") { // a key; the trials of a start carry none
			creates++
		}
	}
	if creates != 2 {
		t.Errorf("the engine created %d containers for two runs", creates)
	}
}

func TestTwoInstallationsOnOneEngine(t *testing.T) {
	one, two := house.New(t, house.Plan{}), house.New(t, house.Plan{})
	a := one.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo survived"})
	one.Says(a, "ready")
	two.Want(two.Run(house.Ask{ID: "s1", Task: "echo mine"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	two.Signal(syscall.SIGKILL)
	two.Start()
	one.Touch("workspaces/s1/go")
	resp := one.Response(a)
	one.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if one.Installation() == two.Installation() {
		t.Error("two installations have one id")
	}
}

func TestShutdownAnswersEverybody(t *testing.T) {
	h := house.New(t, house.Plan{MaxRunning: 1})
	running := h.Submit(house.Ask{ID: "running", Task: "echo ready; exec sleep 1000"})
	h.Says(running, "ready")
	queued := h.Submit(house.Ask{ID: "queued", Task: "echo never"})
	h.Eventually("the second waits", func() bool { return h.Exists("status_queued.json") })
	if err := h.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the watcher ended with %v", err)
	}
	h.Want(h.Response(running), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	h.Want(h.Response(queued), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
}
