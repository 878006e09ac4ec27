package watcher

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
)

// TestASuccessorThatGivesUpLetsNobodyPast: the first run is still being ended when its successor's client gives up, and
// the next request of the same subagent comes, with a workspace of its own.
func TestASuccessorThatGivesUpLetsNobodyPast(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Timing.Terminate = patience }) // until it is told to end now
	first := d.submit(ask{id: "s1", request: "r1", task: "ignore-term"})
	d.started(first)
	earlier := d.watcher.runs.Running(d.latest("s1").Key)
	second := d.submit(ask{id: "s1", request: "r2", task: "echo two"})
	d.eventually("the second waits", func() bool { return d.status("s1").RequestID == "r2" })
	d.touch("cancel_s1")
	d.want(d.response(second), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	elsewhere := filepath.Join(d.outbox, "workspaces", "elsewhere")
	d.must(os.MkdirAll(elsewhere, 0o755))
	third := d.submit(ask{id: "s1", request: "r3", task: "echo three", workspace: elsewhere})
	d.eventually("the third waits, or has gone past", func() bool {
		s := d.status("s1")
		return s.RequestID == "r3" && (s.State == delegation.StateQueued || s.State == delegation.StateEnded)
	})
	earlier.EndNow(delegation.ReasonSuperseded)
	d.want(d.response(third), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if n := d.world.MostAtOnce("s1"); n != 1 {
		t.Errorf("%d runs of one subagent at once", n)
	}
}

// status is what a client finds in its status file, empty while there is none.
func (d *desk) status(id string) (s delegation.RunStatus) {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.outbox, "status_"+id+".json"))
	if err == nil {
		d.must(json.Unmarshal(data, &s))
	}
	return s
}

func TestAnOutboxWithoutAQueueStillRuns(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].Queue = 1, 0 })
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	full := d.response(d.submit(ask{id: "s2", task: "echo"}))
	if full.Error == nil || full.Error.Code != delegation.CodeQueueFull {
		t.Errorf("where nobody may wait, the second is told %+v", full)
	}
}

// TestTheStatusIsThatOfTheRequestThatIsThere: the successor waits for a workspace that another run has, and says so also
// when the run before it has ended.
func TestTheStatusIsThatOfTheRequestThatIsThere(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].QueueBusy = true })
	other := d.submit(ask{id: "other", task: "sleep"})
	d.started(other)
	first := d.submit(ask{id: "s1", request: "r1", task: "sleep"})
	d.started(first)
	key := d.latest("s1").Key
	d.submit(ask{id: "s1", request: "r2", task: "echo", workspace: other.workspace})
	d.eventually("the first is over", func() bool {
		r, err := d.journal.Get(t0(), key)
		d.must(err)
		return r.Answered
	})
	for _, id := range []string{"a", "b"} { // two rounds of writing later
		d.submit(ask{id: id, task: "echo", workspace: other.workspace})
		d.eventually("a status is written", func() bool { return d.exists("status_" + id + ".json") })
	}
	if s := d.status("s1"); s.RequestID != "r2" || s.State != delegation.StateQueued {
		t.Errorf("the status is that of %s, %s", s.RequestID, s.State)
	}
}
