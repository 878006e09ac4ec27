package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

func TestARunOutlivesItsWatcher(t *testing.T) {
	house.Together(t, house.Everybody, aRunOutlivesItsWatcher)
}

func aRunOutlivesItsWatcher(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo done"})
	h.Says(a, "ready")
	h.Signal(syscall.SIGKILL)
	if n := len(h.Sandboxes()); n != 1 {
		t.Fatalf("%d sandboxes after the kill, want the child's", n)
	}
	h.Start()
	h.Touch("workspaces/s1/go")
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "ready\ndone\n" || h.Read(a.Answer) != "ready\ndone\n" {
		t.Errorf("the tail is %q, the answer %q", resp.StdoutTail, h.Read(a.Answer))
	}
	h.Want(h.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Eventually("no sandbox is left", func() bool { return len(h.Sandboxes()) == 0 })
	starts := h.Starts()
	if len(starts) != 2 {
		t.Errorf("two runs are %d keys: %v", len(starts), starts)
	}
	for run, n := range starts {
		if n != 1 {
			t.Errorf("run %s was started %d times", run, n)
		}
	}
}

func TestASandboxThatIsGoneWhenTheWatcherComesBackIsLost(t *testing.T) {
	house.Together(t, house.Everybody, aSandboxThatIsGoneWhenTheWatcherComesBackIsLost)
}

func aSandboxThatIsGoneWhenTheWatcherComesBackIsLost(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; exec sleep 1000"})
	h.Says(a, "ready")
	h.Signal(syscall.SIGKILL)
	for _, s := range h.Sandboxes() {
		h.RemoveSandbox(s)
	}
	h.Start()
	h.Want(h.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
}

func TestTwoInstallationsOnOneEngine(t *testing.T) {
	house.Together(t, house.Each, twoInstallationsOnOneEngine)
}

func twoInstallationsOnOneEngine(t *testing.T, sandbox string) {
	one, two := house.New(t, house.Plan{Sandbox: sandbox}), house.New(t, house.Plan{Sandbox: sandbox})
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
	house.Together(t, house.Everybody, shutdownAnswersEverybody)
}

func shutdownAnswersEverybody(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox, MaxRunning: 1})
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

func TestAnUpgradeCostsNoRun(t *testing.T) { house.Together(t, house.Everybody, anUpgradeCostsNoRun) }

func anUpgradeCostsNoRun(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox, Shutdown: "keep"})
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
	house.Together(t, house.Each, aNewConfigurationCostsNoRun)
}

// aNewConfigurationCostsNoRun: not even time. The next run has what the new configuration allows, and ends before the earlier one goes on.
func aNewConfigurationCostsNoRun(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	a := h.Submit(house.Ask{ID: "s1", Task: "echo ready; while ! test -e go; do sleep 0.02; done; echo done"})
	h.Says(a, "ready")
	was := h.Read(h.Config)
	brief := strings.NewReplacer("max_running: 4", "max_running: 5", "{default: 2m, min: 1s, max: 5m}", "{default: 1s, min: 1s, max: 1s}")
	for _, c := range []struct{ text, says string }{
		{strings.Replace(was, "max_running: 4", "max_runninq: 5", 1), "max_running"}, // a mistake
		{brief.Replace(was), "max_running: 4 → 5"},
	} {
		h.Must(os.WriteFile(h.Config, []byte(c.text), 0o600))
		h.Must(syscall.Kill(h.PID(), syscall.SIGHUP))
		h.Eventually("the watcher says "+c.says, func() bool { return strings.Contains(h.Said(), c.says) })
	}
	h.Eventually("it has taken the run over", func() bool { return strings.Contains(h.Said(), "adopted a run") })
	h.Want(h.Run(house.Ask{ID: "s2", Task: "exec sleep 1000"}), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	h.Touch("workspaces/s1/go")
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
