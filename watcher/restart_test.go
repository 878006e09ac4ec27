package watcher

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
	"torno/watcher/outbox"
)

func t0() context.Context { return context.Background() }

func TestAfterACrash(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	release := d.gate()
	running := d.submit(ask{id: "running", task: "gated"})
	d.started(running)
	queued := d.submit(ask{id: "queued", task: "echo later"})
	d.eventually("the second waits", func() bool { return d.exists("status_queued.json") })
	gone := d.submit(ask{id: "gone", task: "echo never"})
	d.eventually("the third waits", func() bool { return d.exists("status_gone.json") })
	d.crash()
	d.remove("request_gone.json")
	d.open()
	release()
	resp := d.response(running)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "before\nafter\n" {
		t.Errorf("the output was not kept whole: %q", resp.StdoutTail)
	}
	d.want(d.response(queued), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if r := d.ended(gone); r.Reason != delegation.ReasonClientGone {
		t.Errorf("who took the request away meanwhile is answered: %s", r.Reason)
	}
	d.onceEach()
	d.empty()
}

func TestAnEndThatWasNotAnsweredIsAnsweredAfterACrash(t *testing.T) {
	d := newDesk(t, nil)
	reached, never := make(chan struct{}), make(chan struct{})
	d.world.After(sandboxtest.OpWait, func() { close(reached); <-never })
	a := d.submit(ask{id: "s1", task: "echo"})
	<-reached
	d.world.After(sandboxtest.OpWait, nil)
	d.crash(func() { close(never) })
	d.open()
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}

func TestNothingRunsTwiceAfterARestart(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	d.response(a)
	d.stop()
	d.open()
	b := d.submit(ask{id: "s2", task: "echo"})
	d.response(b)
	if all := d.world.Sandboxes(); len(all) != 2 {
		t.Errorf("sandboxes: %v", all)
	}
	d.onceEach()
}

func TestARequestThatComesTwiceGetsTheSameAnswer(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo once"})
	first := d.response(a)
	d.remove("request_s1.json")
	d.eventually("the response is gone too", func() bool { return !d.exists("response_s1.json") })
	d.submit(ask{id: "s1", request: a.request, task: "echo once"})
	again := d.response(a)
	if !again.CompletedAt.Equal(first.CompletedAt) || len(d.world.Released()) != 1 {
		t.Errorf("the same request ran again: %+v", again)
	}
}

func TestShutdownAnswersEverybody(t *testing.T) {
	for name, drain := range map[string]bool{"cancel": false, "drain": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.MaxRunning, c.Shutdown.Drain = 1, drain })
			running := d.submit(ask{id: "running", task: "lines 100 0.01"})
			d.started(running)
			queued := d.submit(ask{id: "queued", task: "echo never"})
			d.eventually("the second waits", func() bool { return d.exists("status_queued.json") })
			d.stop()
			resp := d.response(queued)
			d.want(resp, delegation.StatusCancelled, delegation.ReasonShutdown, -1)
			if !strings.Contains(resp.StderrTail, "shut down") {
				t.Errorf("the reason is not said: %q", resp.StderrTail)
			}
			if drain {
				d.want(d.response(running), delegation.StatusCompleted, delegation.ReasonExited, 0)
			} else {
				d.want(d.response(running), delegation.StatusCancelled, delegation.ReasonShutdown, -1)
			}
			var h delegation.Heartbeat
			data, err := os.ReadFile(filepath.Join(d.outbox, delegation.HeartbeatName))
			d.must(err)
			d.must(json.Unmarshal(data, &h))
			if !h.Stopping {
				t.Error("watcher.json does not say that the watcher stopped")
			}
		})
	}
}

func TestAPowerCutDoesNotLoseAnAnswer(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo once"})
	d.response(a)
	d.ended(a)
	d.stop()
	d.must(os.Truncate(filepath.Join(d.outbox, "response_s1.json"), 0))
	d.open()
	d.eventually("the answer is there again", func() bool {
		info, err := os.Stat(filepath.Join(d.outbox, "response_s1.json"))
		return err == nil && info.Size() > 0
	})
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestADirectoryInTheWayOfAnAnswerDoesNotStopAStart(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	d.must(os.MkdirAll(filepath.Join(d.outbox, "response_s1.json", "full"), 0o755))
	handle := *d.latest("s1").Handle
	d.crash()
	d.world.Vanish(handle)
	d.open()
	d.must(os.RemoveAll(filepath.Join(d.outbox, "response_s1.json")))
	d.want(d.response(a), delegation.StatusError, delegation.ReasonLost, -1)
}

func TestWhatWaitedIsRefusedWhenThePolicyHasChanged(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	d.started(d.submit(ask{id: "first", task: "sleep"}))
	a := d.submit(ask{id: "s1", task: "echo"})
	d.eventually("it waits", func() bool { return d.exists("status_s1.json") })
	d.crash()
	d.config.Outboxes[0].Policy.Allow = []compile.Root{compile.Root(filepath.Join(d.outbox, "elsewhere"))}
	d.must(os.MkdirAll(filepath.Join(d.outbox, "elsewhere"), 0o755))
	d.open()
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code == "" {
		t.Errorf("it is not said why: %+v", resp)
	}
	d.ended(a)
}

// TestOnePlantedAnswerHoldsUpNoOther (H26): its parent plants a directory where a response belongs. What it is owed besides waits for the
// listing of its own outbox, and no other outbox waits for that.
func TestOnePlantedAnswerHoldsUpNoOther(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	for _, id := range []string{"s1", "s2"} {
		d.started(d.submit(ask{id: id, task: "gated"}))
		d.printed(id, "before\n")
	}
	d.must(os.MkdirAll(filepath.Join(d.outbox, "response_s1.json", "full"), 0o755))
	records := []journal.Run{d.latest("s1"), d.latest("s2")}
	d.crash(release)
	config := d.config
	config.Journal = d.openJournal()
	t.Cleanup(func() { config.Journal.Close() })
	w := New(config)
	d.must(outbox.Identify(t.Context(), w.journal, w.boxes, (*outbox.Outbox).Directory))
	stuck := stuckOutboxes{records[0].Outbox: mostStuck - 1}
	for _, r := range records {
		d.must(w.journal.Move(t.Context(), r.Key, r.State, delegation.StateEnded, journal.Change{Reason: delegation.ReasonLost, Ended: time.Now()}))
		d.must(w.respondToEnded(t.Context(), w.boxes[0], r, stuck))
	}
	if d.exists("response_s2.json") {
		t.Error("each response that is owed is tried before any outbox is served")
	}
	live := ""
	segments, err := filepath.Glob(filepath.Join(d.outbox, "events_s2.*"))
	d.must(err)
	for _, segment := range segments {
		live += d.text(filepath.Base(segment))
	}
	if !strings.Contains(live, `"ended"`) {
		t.Errorf("the live output of the second one has no end: %q of %q", live, segments)
	}
	d.must(w.respondToEnded(t.Context(), w.boxes[0], records[1], stuckOutboxes{}))
	if !d.exists("response_s2.json") {
		t.Error("nothing is shown: the second one cannot be written either")
	}
	d.must(w.respondToEnded(t.Context(), w.boxes[0], records[0], stuck))
	gone := records[0]
	if r, err := w.journal.Get(t.Context(), gone.Key); err != nil || r.Answered {
		t.Errorf("nothing is shown: the first one is answered already: %v", err)
	}
	d.must(os.Rename(filepath.Join(d.outbox, "request_s2.json"), filepath.Join(d.outbox, gone.FileName))) // its parent replaces the request
	d.must(w.respondToEnded(t.Context(), w.boxes[0], gone, stuck))
	if r, err := w.journal.Get(t.Context(), gone.Key); err != nil || !r.Answered {
		t.Errorf("a response that nobody waits for is owed for ever: %v", err)
	}
}
