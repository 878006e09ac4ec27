package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// forgetful is a house whose engine dies, once it is armed, when its runtime has started a container and has not told
// it yet. The file armed is gone then, and started has the container's id.
func forgetful(t *testing.T) (h *house.House, engine *house.Private, armed, started string) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	armed, runtime, pid := filepath.Join(dir, "armed"), filepath.Join(dir, "runtime"), filepath.Join(dir, "pid")
	started = filepath.Join(dir, "started")
	script := fmt.Sprintf(`#!/bin/sh
runc "$@"
code=$?
for id; do :; done
case " $* " in *" start "*) test -e %[1]s && printf %%s $id >%[2]s && kill -KILL $(cat %[3]s) && rm %[1]s ;; esac
exit $code
`, armed, started, pid)
	if err := os.WriteFile(runtime, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	engine = house.NewPrivate(t, house.PrivatePlan{Flags: []string{
		"--live-restore", "--add-runtime", "forgetful=" + runtime, "--default-runtime", "forgetful",
	}})
	if err := os.Symlink(filepath.Join(engine.Dir, "pid"), pid); err != nil {
		t.Fatal(err)
	}
	h = house.New(t, house.Plan{Engine: &engine.Engine, Host: engine.Host()})
	h.Must(os.WriteFile(armed, nil, 0o600))
	return h, engine, armed, started
}

// noted is a task that writes into its workspace that it has begun.
const noted = "echo start >>ledger"

// onceInOneAttempt wants a run to have been done as if nothing had been.
func onceInOneAttempt(h *house.House, a house.Ask) {
	h.Helper()
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if begun := h.Read(filepath.Join(a.Workspace, "ledger")); resp.Attempt != 1 || begun != "start\n" {
		h.Errorf("it was attempt %d, and agents wrote %q", resp.Attempt, begun)
	}
}

// nothingOf waits until no process is in the control group of a container.
func nothingOf(h *house.House, container string) {
	h.Helper()
	h.Eventually("no process of the first sandbox is left", func() bool {
		groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
		h.Must(err)
		for _, group := range groups {
			if text, err := os.ReadFile(group); err == nil && strings.Contains(string(text), container) {
				return false
			}
		}
		return true
	})
}

// TestTheEngineForgetsWhatItStarted kills the engine when init holds and the engine has not noted that it began. The engine believes
// then that it never started the container, would start it a second time, and cannot end it. No agent ran in it, so the run is done
// in another sandbox and in the same attempt, and nothing of the first one is left.
func TestTheEngineForgetsWhatItStarted(t *testing.T) {
	for name, restart := range map[string]bool{"the watcher stays": false, "the watcher dies with it": true} {
		t.Run(name, func(t *testing.T) {
			h, engine, armed, started := forgetful(t)
			a := h.Submit(house.Ask{ID: "s1", Task: noted})
			h.Eventually("a sandbox was started and the engine is dead", func() bool { return missing(armed) })
			if restart {
				h.Signal(syscall.SIGKILL)
			}
			engine.Launch()
			engine.Await()
			if restart {
				h.Start()
			}
			onceInOneAttempt(h, a)
			nothingOf(h, h.Read(started))
		})
	}
}

// deaths are the ways in which an engine goes, and comes back.
var deaths = map[string]struct {
	plan       house.PrivatePlan
	down, back func(*house.Private)
}{
	"killed":                   {house.PrivatePlan{}, (*house.Private).Kill, launched},
	"killed with live-restore": {living, (*house.Private).Kill, launched},
	"power cut":                {house.PrivatePlan{}, (*house.Private).CutPower, (*house.Private).PowerUp},
}

func launched(p *house.Private) { p.Launch(); p.Await() }

// TestTheEngineDiesWhileASandboxHolds takes the engine away before the host has looked at a sandbox. Nothing ran in it, however the
// engine comes back: the run is done once, in another sandbox and in the same attempt.
func TestTheEngineDiesWhileASandboxHolds(t *testing.T) {
	for name, c := range deaths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := house.NewPrivate(t, c.plan)
			proxy := house.NewProxy(t, engine.Engine)
			h := house.New(t, house.Plan{Engine: &engine.Engine, Host: proxy.Host()})
			const look = "GET containers/ID/json"
			since := time.Now()
			let := proxy.Delay(look)
			a := h.Submit(house.Ask{ID: "s1", Task: noted})
			h.Eventually("the host begins to look", func() bool { return len(proxy.Calls(look, since)) > 0 })
			holds := engine.Containers(t, h.Installation())
			if len(holds) != 1 || holds[0].State != "running" {
				t.Fatalf("the engine has %+v; no sandbox holds", holds)
			}
			c.down(engine)
			let()
			c.back(engine)
			onceInOneAttempt(h, a)
			nothingOf(h, holds[0].ID)
		})
	}
}

// TestTheEngineForgetsHowItEnded has a child killed and cleaned away behind its engine's back, as when the engine is killed
// between the end of a child and the note of that. The engine says then that it ended with 0.
func TestTheEngineForgetsHowItEnded(t *testing.T) {
	h, engine := with(t, living)
	a := h.Submit(house.Ask{ID: "s1", Task: until})
	h.Says(a, "ready")
	id := engine.Containers(t, h.Installation())[0].ID
	engine.Kill()
	engine.CleanAway(id)
	engine.Launch()
	engine.Await()
	h.Want(h.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}
