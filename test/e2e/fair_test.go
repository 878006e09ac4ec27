package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// TestAFloodDelaysItsOwnParent: while one parent has hundreds waiting, another one's requests wait for about one run.
func TestAFloodDelaysItsOwnParent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "second")
	h := house.New(t, house.Plan{MaxRunning: 2, Dirs: []string{dir + "/workspaces"}, Extra: fmt.Sprintf(
		"    queue: 1000\n  second:\n    dir: %[1]s\n    allow: [%[1]s/workspaces]\n    profiles: [sh]", dir)})
	other := h.Beside(dir)
	const task, flood = "sleep 0.2", 300
	wait := func(i int) (queued, slot float64) {
		resp := other.Run(house.Ask{ID: fmt.Sprint("s", i), Task: task})
		h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		return resp.Timings.Queue, resp.Timings.Create + resp.Timings.Start + resp.Timings.Run
	}
	alone, _ := wait(0)
	for i := range flood {
		h.Submit(house.Ask{ID: fmt.Sprint("f", i), Task: task})
	}
	h.Eventually("the flood is in", func() bool { return beatOf(h).Queued > flood/2 })
	var queued, slots []float64
	for i := range 6 {
		q, slot := wait(i + 1)
		queued, slots = append(queued, q), append(slots, slot)
	}
	still := beatOf(h).Queued
	for i := range flood {
		h.Must(os.Remove(h.Path(fmt.Sprintf("request_f%d.json", i))))
	}
	worst, run := slices.Max(queued), slices.Max(slots)
	t.Logf("with %d before it in another outbox, a request waits %.0f ms at most, alone %.1f; a run takes %.0f", still, worst, alone, run)
	if still < flood/2 {
		t.Fatalf("only %d of the flood wait: nothing is shown", still)
	}
	if worst > alone+2*run { // one run before it, and its removal
		t.Errorf("a request waited %.0f ms, %.1f runs", worst, worst/run)
	}
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
	begin := time.Now()
	resp := h.Run(house.Ask{ID: "over", Task: "true"})
	took := time.Since(begin)
	h.Want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeQueueFull || !strings.Contains(resp.StderrTail, "2 is the limit") {
		t.Errorf("the refusal is %+v %q", resp.Error, resp.StderrTail)
	}
	if limit := beatOf(h).Limits.Queue; limit != 2 {
		t.Errorf("watcher.json says %d may wait", limit)
	}
	if took > time.Second {
		t.Errorf("the refusal took %s", took)
	}
	h.Touch("workspaces/running/go")
	for _, a := range append(waiting, running) {
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
}
