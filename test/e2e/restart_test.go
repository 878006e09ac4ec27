package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
)

func TestKilledBetweenLaunchAndResponse(t *testing.T) {
	h := newHouse(t, plan{})
	since := time.Now().Unix()
	a := h.submit(ask{id: "s1", task: "echo ready; exec sleep 1000"})
	h.says(a, "ready")
	installation := h.installation()
	h.signal(syscall.SIGKILL)
	if n := len(h.engine.containers(t, installation)); n != 1 {
		t.Fatalf("%d containers after the kill, want the orphan", n)
	}
	h.start()
	h.want(h.response(a), delegation.StatusError, delegation.ReasonLost, -1)
	if left := h.engine.containers(t, installation); len(left) != 0 {
		t.Errorf("orphans: %v", left)
	}
	h.want(h.run(ask{id: "s2", task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	creates := 0
	for run, actions := range h.engine.events(t, installation, since, time.Now().Unix()+1) {
		if len(run) == 32 && slices.Contains(actions, "create") { // a key; the trials of a start carry none
			creates++
		}
	}
	if creates != 2 {
		t.Errorf("the engine created %d containers for two runs", creates)
	}
}

func TestTwoInstallationsOnOneEngine(t *testing.T) {
	one, two := newHouse(t, plan{}), newHouse(t, plan{})
	a := one.submit(ask{id: "s1", task: "echo ready; while ! test -e go; do sleep 0.02; done; echo survived"})
	one.says(a, "ready")
	two.want(two.run(ask{id: "s1", task: "echo mine"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	two.signal(syscall.SIGKILL)
	two.start()
	one.touch("workspaces/s1/go")
	resp := one.response(a)
	one.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if one.installation() == two.installation() {
		t.Error("two installations have one id")
	}
}

func TestShutdownAnswersEverybody(t *testing.T) {
	h := newHouse(t, plan{MaxRunning: 1})
	running := h.submit(ask{id: "running", task: "echo ready; exec sleep 1000"})
	h.says(running, "ready")
	queued := h.submit(ask{id: "queued", task: "echo never"})
	h.eventually("the second waits", func() bool { return h.exists("status_queued.json") })
	if err := h.signal(syscall.SIGTERM); err != nil {
		t.Errorf("the watcher ended with %v", err)
	}
	h.want(h.response(running), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
	h.want(h.response(queued), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
}
