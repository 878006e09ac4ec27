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

// forgetful is a house whose engine dies, once it is armed, when its runtime has started a container and nobody has heard
// of that yet.
func forgetful(t *testing.T, plan house.Plan) (h *house.House, engine *house.Private, armed string) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	armed, runtime, pid := filepath.Join(dir, "armed"), filepath.Join(dir, "runtime"), filepath.Join(dir, "pid")
	script := fmt.Sprintf(`#!/bin/sh
runc "$@"
code=$?
case " $* " in *" start "*) rm %s 2>/dev/null && kill -KILL $(cat %s) ;; esac
exit $code
`, armed, pid)
	if err := os.WriteFile(runtime, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	engine = house.NewPrivate(t, house.PrivatePlan{Flags: []string{
		"--live-restore", "--add-runtime", "forgetful=" + runtime, "--default-runtime", "forgetful",
	}})
	if err := os.Symlink(filepath.Join(engine.Dir, "pid"), pid); err != nil {
		t.Fatal(err)
	}
	plan.Engine, plan.Host = &engine.Engine, engine.Host()
	h = house.New(t, plan)
	h.Must(os.WriteFile(armed, nil, 0o600))
	return h, engine, armed
}

// ticking writes into its workspace that it has begun, and then that it lives.
const ticking = "echo start >>ledger; for i in $(seq 400); do echo tick >>ledger; sleep 0.05; done"

// TestTheEngineForgetsWhatItStarted kills the engine when the child runs and the engine has not noted it. The engine
// believes then that it never started it, would start it a second time, and cannot end it.
func TestTheEngineForgetsWhatItStarted(t *testing.T) {
	for name, restart := range map[string]bool{"the watcher stays": false, "the watcher dies with it": true} {
		t.Run(name, func(t *testing.T) {
			h, engine, armed := forgetful(t, house.Plan{})
			a := h.Submit(house.Ask{ID: "s1", Task: ticking})
			h.Eventually("the child lives and the engine is dead", func() bool { return missing(armed) && lines(h, a) > 2 })
			if restart {
				h.Signal(syscall.SIGKILL)
			}
			engine.Launch()
			engine.Await()
			if restart {
				h.Start()
			}
			h.Want(h.Response(a), delegation.StatusError, delegation.ReasonLost, -1)
			nothingMore(h, a, 1)
		})
	}
}

// TestWhatTheEngineForgotIsAttemptedAgain where the profile says so, and not before it is dead.
func TestWhatTheEngineForgotIsAttemptedAgain(t *testing.T) {
	h, engine, armed := forgetful(t, house.Plan{
		Offers: ", again", Profiles: "  again:\n    attempts: 2\n    timeout: {default: 30s, min: 1s, max: 5m}",
	})
	task := "test -e ledger && { echo start >>ledger; exit 0; }; " + ticking
	a := h.Submit(house.Ask{ID: "s1", Profile: "again", Task: task})
	h.Eventually("the child lives and the engine is dead", func() bool { return missing(armed) && lines(h, a) > 2 })
	engine.Launch()
	engine.Await()
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Attempt != 2 {
		t.Errorf("it counts %d attempts", resp.Attempt)
	}
	nothingMore(h, a, 2)
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

func lines(h *house.House, a house.Ask) int {
	data, err := os.ReadFile(filepath.Join(a.Workspace, "ledger"))
	if err != nil {
		return 0
	}
	return strings.Count(string(data), "\n")
}

// nothingMore wants so many children to have begun, and none to live.
func nothingMore(h *house.House, a house.Ask, begun int) {
	h.Helper()
	before := h.Read(filepath.Join(a.Workspace, "ledger"))
	<-time.After(200 * time.Millisecond) // four ticks
	after := h.Read(filepath.Join(a.Workspace, "ledger"))
	if before != after {
		h.Errorf("it is answered, and a child lives on")
	}
	if n := strings.Count(after, "start\n"); n != begun {
		h.Errorf("%d children began, want %d", n, begun)
	}
}
