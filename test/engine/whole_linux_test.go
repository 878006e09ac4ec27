package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/test/house"
)

// with is a house with an engine of its own.
func with(t *testing.T, plan house.PrivatePlan) (*house.House, *house.Private) {
	t.Helper()
	t.Parallel()
	engine := house.NewPrivate(t, plan)
	return house.New(t, house.Plan{Engine: &engine.Engine, Host: engine.Host()}), engine
}

var living = house.PrivatePlan{Flags: []string{"--live-restore"}}

// TestTheEngineIsRestarted takes the engine away in the middle of a run, and brings it back. What waits waits; what ran goes
// on where the engine keeps its containers, and otherwise ends as it was ended.
func TestTheEngineIsRestarted(t *testing.T) {
	stop, kill, cut := (*house.Private).Stop, (*house.Private).Kill, (*house.Private).CutPower
	back := func(p *house.Private) { p.Launch(); p.Await() }
	for name, c := range map[string]struct {
		plan       house.PrivatePlan
		down, back func(*house.Private)
		want       delegation.Reason
	}{
		"stopped":                   {house.PrivatePlan{}, stop, back, delegation.ReasonSignalled},
		"killed":                    {house.PrivatePlan{}, kill, back, delegation.ReasonSignalled},
		"power cut":                 {house.PrivatePlan{}, cut, (*house.Private).PowerUp, delegation.ReasonLost},
		"stopped with live-restore": {living, stop, back, delegation.ReasonExited},
		"killed with live-restore":  {living, kill, back, delegation.ReasonExited},
	} {
		t.Run(name, func(t *testing.T) {
			h, engine := with(t, c.plan)
			running := h.Submit(house.Ask{ID: "running", Task: until})
			h.Says(running, "ready")
			c.down(engine)
			waiting := h.Submit(house.Ask{ID: "waiting", Task: "echo late"})
			told(h, delegation.NoticeLauncher)
			c.back(engine)
			if c.want == delegation.ReasonExited {
				finished(h, running)
			} else if resp := h.Response(running); resp.Reason != c.want || resp.Status != delegation.StatusError || resp.StdoutTail != "ready\n" {
				t.Errorf("what ran ended as %s, %s (%q, %q), want %s", resp.Status, resp.Reason, resp.StdoutTail, resp.StderrTail, c.want)
			}
			h.Want(h.Response(waiting), delegation.StatusCompleted, delegation.ReasonExited, 0)
			calm(h)
		})
	}
}

func TestTheEngineHangs(t *testing.T) {
	h, engine := with(t, house.PrivatePlan{})
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	letOnEngine := engine.Hang()
	waiting := h.Submit(house.Ask{ID: "waiting", Task: "echo late"})
	told(h, delegation.NoticeLauncher)
	if status, err := h.Client.Status(h.Context()); err != nil || status.Launchers[0].Trouble == "" {
		t.Errorf("the operator is not told what is the matter: %+v, %v", status.Launchers, err)
	}
	letOnEngine()
	h.Want(h.Response(waiting), delegation.StatusCompleted, delegation.ReasonExited, 0)
	finished(h, running)
	calm(h)
}

// TestAHungEngineKeepsNoChildAlive: the time of a run is over while the engine hangs. Its child is killed all the same, and its
// answer comes when the engine is back.
func TestAHungEngineKeepsNoChildAlive(t *testing.T) {
	h, engine := with(t, house.PrivatePlan{})
	const word, timeout = "a-child-of-a-hung-engine", 15
	ask := h.Submit(house.Ask{ID: "s1", Task: `trap "" HUP INT TERM; echo hello; while :; do sleep 1; done # ` + word, Timeout: timeout})
	h.Says(ask, "hello")
	run, err := h.Client.Run(h.Context(), "main/s1")
	h.Must(err)
	backstop := run.Released.Add(timeout*time.Second + runfile.Grace)
	if !lives(t, word) {
		t.Fatal("the child is not to be seen: nothing is shown")
	}
	letOnEngine := engine.Hang()
	defer letOnEngine()
	h.Within(time.Until(backstop)-time.Second, "the child is killed before its own backstop is over", func() bool { return !lives(t, word) })
	letOnEngine()
	h.Want(h.Response(ask), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	calm(h)
}

// TestAStopWhileTheEngineHangsSaysSo: a watcher is told to stop while it waits for an engine that hangs, and an earlier one has left a
// child. It ends at once, and not as if nothing were left.
func TestAStopWhileTheEngineHangsSaysSo(t *testing.T) {
	h, engine := with(t, house.PrivatePlan{})
	ask := h.Submit(house.Ask{ID: "s1", Task: until, Timeout: 120})
	h.Says(ask, "ready")
	h.Signal(syscall.SIGKILL)
	letOnEngine := sync.OnceFunc(engine.Hang())
	t.Cleanup(letOnEngine)
	h.Launch()
	h.Eventually("it asks the engine", func() bool { return sockets(h, h.PID()) > 0 })
	h.Must(syscall.Kill(h.PID(), syscall.SIGTERM))
	var end *os.ProcessState
	h.Eventually("it stops", func() (dead bool) { end, dead = h.Dead(); return dead })
	const left = "the watcher stopped and does not know whether it owes responses (it was told to stop before it took up the runs of " +
		"an earlier watcher); 1 sandboxes are left, and may run on"
	if end.ExitCode() != 4 || !strings.Contains(h.Said(), left) {
		t.Errorf("it ended with %s, and has to end with 4 and to say %q", end, left)
	}
	letOnEngine()
	h.Start()
	finished(h, ask)
}

// sockets is how many sockets a process has.
func sockets(h *house.House, pid int) (n int) {
	h.Helper()
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	h.Must(err)
	for _, file := range open {
		if to, _ := os.Readlink(file); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// lives says whether a process of this machine has a word in its command line.
func lives(t *testing.T, word string) bool {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(lines, func(line string) bool {
		text, _ := os.ReadFile(line) // one that has ended since has none
		return bytes.Contains(text, []byte(word))
	})
}

// TestTheEnginesDiskIsFull: what runs is not harmed, what is to start is not launched and is told why, and when there is
// room again everything works.
func TestTheEnginesDiskIsFull(t *testing.T) {
	h, engine := with(t, house.PrivatePlan{Size: "64m"})
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	free := house.Fill(t, engine.Dir+"/data")
	resp := h.Run(house.Ask{ID: "s1", Request: "r1", Task: "true"})
	if resp.Reason != delegation.ReasonLaunchFailed || !strings.Contains(resp.StderrTail, "no space left on device") {
		t.Errorf("it ended as %s: %s", resp.Reason, resp.StderrTail)
	}
	finished(h, running)
	free()
	h.Want(h.Run(house.Ask{ID: "s1", Request: "r2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
