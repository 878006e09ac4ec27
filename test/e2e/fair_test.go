package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// TestAFloodDelaysItsOwnParent: while one parent has hundreds waiting, another one's requests wait for about one run.
func TestAFloodDelaysItsOwnParent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "second")
	const slots = 2
	h := house.New(t, house.Plan{MaxRunning: slots, Dirs: []string{dir + "/workspaces"}, Extra: fmt.Sprintf(
		"    queue: 1000\n  second:\n    dir: %[1]s\n    allow: [%[1]s/workspaces]\n    profiles: [sh]", dir)})
	other := h.Beside(dir)
	const task, flood = "sleep 0.2", 300
	wait := func(i int) (milliseconds float64) {
		resp := other.Run(house.Ask{ID: fmt.Sprint("s", i), Task: task})
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		return resp.Timings.Queue
	}
	for i := range flood {
		h.Submit(house.Ask{ID: fmt.Sprint("f", i), Task: task})
	}
	h.Eventually("the flood is in", func() bool { return beatOf(h).Queued > flood/2 })
	var queued []float64
	for i := range 6 {
		queued = append(queued, wait(i))
	}
	still := beatOf(h).Queued
	overtaken := overtakenBy(h)
	for i := range flood {
		h.Must(os.Remove(h.Path(fmt.Sprintf("request_f%d.json", i))))
	}
	t.Logf("with %d before it in another outbox, a request waits %.0f ms at most", still, slices.Max(queued))
	if still < flood/2 {
		t.Fatalf("only %d of the flood wait: nothing is shown", still)
	}
	if len(overtaken) != len(queued) || slices.Max(overtaken) > 1+slots { // runs that had a slot already when it came may be recorded later
		t.Errorf("while a request of the second outbox waited, so many of the first one got their turn: %v", overtaken)
	}
}

// overtakenBy is, for each run of the second outbox, how many of the first one got a slot while it waited for its own.
func overtakenBy(h *house.House) (times []int) {
	h.Helper()
	all, err := h.Client.Runs(h.Context(), control.Query{All: true, Limit: 1000})
	h.Must(err)
	for _, waits := range all {
		if waits.Outbox != "second" {
			continue
		}
		n := 0
		for _, r := range all {
			if r.Outbox == "main" && r.Starting.After(waits.Created) && r.Starting.Before(waits.Starting) {
				n++
			}
		}
		times = append(times, n)
	}
	return times
}

func beatOf(h *house.House) (beat delegation.Heartbeat) {
	h.Helper()
	h.Must(json.Unmarshal([]byte(h.Read(h.Path(delegation.HeartbeatName))), &beat))
	return beat
}

// TestAFullQueueSaysSo: at once, and how many may wait.
func TestAFullQueueSaysSo(t *testing.T) {
	h := house.New(t, house.Plan{MaxRunning: 1, Extra: "    queue: 2"})
	running := h.Submit(house.Ask{ID: "running", Task: "echo ready; while ! test -e go; do sleep 0.02; done"})
	h.Says(running, "ready")
	var waiting []house.Ask
	for i := range 2 {
		a := h.Submit(house.Ask{ID: fmt.Sprint("waiting", i), Task: "true"})
		h.Eventually("it waits", func() bool { return h.Exists("status_" + a.ID + ".json") })
		waiting = append(waiting, a)
	}
	resp := h.Run(house.Ask{ID: "over", Task: "true"}) // while the first one runs
	h.Want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeQueueFull || !strings.Contains(resp.StderrTail, "2 is the limit") {
		t.Errorf("the refusal is %+v %q", resp.Error, resp.StderrTail)
	}
	if limit := beatOf(h).Limits.Queue; limit != 2 {
		t.Errorf("watcher.json says %d may wait", limit)
	}
	h.Touch("workspaces/running/go")
	for _, a := range append(waiting, running) {
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
}
