package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// years is how far clocks are off here: a machine whose clock has no battery begins in 1970, and finds the time later.
const years = 10 * 365 * 24 * time.Hour

// began is the beginning of a task that writes down that it has begun.
const began = "echo began >>ledger; echo ready; "

// TestTheClockIsSetBetweenWatchers: a watcher dies while runs are under way, and the next one has another time. What ended meanwhile,
// in its time, is told as it ended. What still runs has the time that it had, and a cancel counts.
func TestTheClockIsSetBetweenWatchers(t *testing.T) {
	t.Parallel()
	for direction, by := range map[string]time.Duration{"forwards": years, "backwards": -years} {
		t.Run(direction, func(t *testing.T) {
			house.Together(t, house.Each, func(t *testing.T, sandbox string) { clockIsSet(t, sandbox, by) })
		})
	}
}

func clockIsSet(t *testing.T, sandbox string, by time.Duration) {
	h := house.New(t, house.Plan{Sandbox: sandbox, MaxRunning: 5})
	const untilTold, forEver = began + "while ! test -e go; do sleep 0.02; done; ", began + "exec sleep 1000"
	const short = 6 * time.Second
	asks := map[string]house.Ask{}
	for _, a := range []house.Ask{
		{ID: "long", Task: untilTold},
		{ID: "ends", Task: untilTold},
		{ID: "fails", Task: untilTold + "exit 3"},
		{ID: "cancelled", Task: forEver},
		{ID: "short", Task: forEver, Timeout: int(short.Seconds())},
	} {
		asks[a.ID] = h.Submit(a)
		h.Says(asks[a.ID], "ready")
	}
	told := []string{"ends", "fails"}
	ends := map[string]bool{}
	for _, id := range told {
		run, err := h.Client.Run(h.Context(), "main/"+id)
		h.Must(err)
		ends[string(run.SandboxID)] = true
	}
	h.Signal(syscall.SIGKILL)
	for _, id := range told {
		h.Touch("workspaces/" + id + "/go")
	}
	h.Eventually("two have ended", func() bool {
		ended := 0
		for _, s := range h.Sandboxes() {
			if ends[s.Sandbox] && !s.Running { // the short one may have ended, too
				ended++
			}
		}
		return ended == len(told)
	})
	h.SetClock(by)
	h.TouchAged("cancel_cancelled", by)
	h.Start()

	h.Want(h.Response(asks["ends"]), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Want(h.Response(asks["fails"]), delegation.StatusError, delegation.ReasonExited, 3)
	h.Want(h.Response(asks["cancelled"]), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	h.Want(h.Response(asks["short"]), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
	if took := time.Since(asks["short"].Renamed); took < short {
		t.Errorf("a run of %s was ended after %s", short, took)
	}
	h.Touch("workspaces/long/go")
	h.Want(h.Response(asks["long"]), delegation.StatusCompleted, delegation.ReasonExited, 0)
	for _, a := range asks {
		if begun := h.Read(filepath.Join(a.Workspace, "ledger")); begun != "began\n" {
			t.Errorf("%s has written %q", a.ID, begun)
		}
	}
}

// TestTimesOfFilesDecideNothing: an unknown request whose time lies years ahead or back is refused. A run goes on, whatever
// time the file of its request gets. A cancel of any time counts.
func TestTimesOfFilesDecideNothing(t *testing.T) {
	house.Together(t, house.Each, timesOfFilesDecideNothing)
}

func timesOfFilesDecideNothing(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox})
	for name, age := range map[string]time.Duration{"ahead": -years, "back": years} {
		refused := h.Run(house.Ask{ID: name, Request: "never", Task: began, Age: age})
		h.Want(refused, delegation.StatusError, delegation.ReasonRefused, -1)
		if refused.Error == nil || refused.Error.Code != delegation.CodeStale {
			t.Errorf("a request whose time lies %s is refused with %+v", name, refused.Error)
		}
		runs := h.Submit(house.Ask{ID: name, Request: "runs", Task: began + "exec sleep 1000"})
		h.Says(runs, "ready")
		h.Must(os.Chtimes(h.Path("request_"+name+".json"), time.Time{}, time.Now().Add(-age)))
		again := h.Submit(house.Ask{ID: name + "again", Task: began, Age: min(max(age, -time.Hour), 24*time.Hour)})
		h.Want(h.Response(again), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if run, err := h.Client.Run(h.Context(), "main/"+name); err != nil || run.State != delegation.StateRunning {
			t.Errorf("a run whose file got a time that lies %s is %+v, %v", name, run, err)
		}
		h.TouchAged("cancel_"+name, age)
		h.Want(h.Response(runs), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
		for _, id := range []string{name, name + "again"} {
			if begun := h.Read(h.Path("workspaces/" + id + "/ledger")); begun != "began\n" {
				t.Errorf("%s has written %q", id, begun)
			}
		}
	}
}
