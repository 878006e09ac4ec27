package e2e

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

func TestARunOutlivesItsWatcher(t *testing.T) {
	h := house.New(t, house.Plan{})
	since := time.Now().Unix()
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo done"})
	h.Says(a, "ready")
	installation := h.Installation()
	h.Signal(syscall.SIGKILL)
	if n := len(h.Engine.Containers(t, installation)); n != 1 {
		t.Fatalf("%d containers after the kill, want the child's", n)
	}
	h.Start()
	h.Touch("workspaces/s1/go")
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "ready\ndone\n" || h.Read(a.Answer) != "ready\ndone\n" {
		t.Errorf("the tail is %q, the answer %q", resp.StdoutTail, h.Read(a.Answer))
	}
	h.Want(h.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Eventually("no sandbox is left", func() bool { return len(h.Engine.Containers(t, installation)) == 0 })
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

func TestASandboxThatIsGoneWhenTheWatcherComesBackIsLost(t *testing.T) {
	h := house.New(t, house.Plan{})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; exec sleep 1000"})
	h.Says(a, "ready")
	left := h.Engine.Containers(t, h.Installation())
	h.Signal(syscall.SIGKILL)
	for _, c := range left {
		h.Engine.Remove(t, c.ID)
	}
	h.Start()
	h.Want(h.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
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

func TestAnUpgradeCostsNoRun(t *testing.T) {
	h := house.New(t, house.Plan{Shutdown: "keep"})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo done"})
	h.Says(a, "ready")
	if err := h.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the watcher ended with %v", err)
	}
	if h.Exists("response_s1.json") {
		t.Error("a run that was kept was answered")
	}
	h.Start()
	h.Touch("workspaces/s1/go")
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "ready\ndone\n" {
		t.Errorf("the tail is %q", resp.StdoutTail)
	}
}

func TestANewConfigurationCostsNoRun(t *testing.T) {
	h := house.New(t, house.Plan{})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo done"})
	h.Says(a, "ready")
	was := h.Read(h.Config)
	for _, c := range []struct{ text, says string }{
		{strings.Replace(was, "max_running: 4", "max_runninq: 5", 1), "max_running"}, // a mistake
		{strings.Replace(was, "max_running: 4", "max_running: 5", 1), "max_running: 4 → 5"},
	} {
		h.Must(os.WriteFile(h.Config, []byte(c.text), 0o600))
		h.Must(syscall.Kill(h.PID(), syscall.SIGHUP))
		h.Eventually("the watcher says "+c.says, func() bool { return strings.Contains(h.Said(), c.says) })
	}
	h.Eventually("it has taken the run over", func() bool { return strings.Contains(h.Said(), "adopted a run") })
	h.Want(h.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Touch("workspaces/s1/go")
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
