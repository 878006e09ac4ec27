package watcher

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"torno/delegation"
)

// TestAnotherInstallationServedTheOutbox between two watchers of this one: what that one answered keeps its answer, what it may
// have run is refused, and nothing runs twice.
func TestAnotherInstallationServedTheOutbox(t *testing.T) {
	said := &notebook{}
	d := newDesk(t, told(said))
	d.response(d.submit(ask{id: "first", task: "echo first"}))
	d.stop()
	own := d.state
	d.installed(filepath.Join(d.TempDir(), "theirs"))
	d.eventually("the other one looks through the outbox", func() bool { return said.count("was looked through") == 1 })
	kept, taken := d.submit(ask{id: "kept", task: "echo kept"}), d.submit(ask{id: "taken", task: "echo taken"})
	d.response(kept)
	d.response(taken)
	d.stop()
	d.remove("response_taken.json")
	d.installed(own)
	resp := d.response(taken)
	if resp.Error == nil || resp.Error.Code != delegation.CodeJournalLost {
		t.Errorf("what the other one may have run is answered %+v", resp)
	}
	d.eventually("the outbox is looked through again", func() bool { return said.count("was looked through") == 2 })
	d.want(d.response(kept), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.want(d.response(d.submit(ask{id: "taken", request: "anew", task: "echo anew"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if ran := d.world.Released(); len(ran) != 4 {
		t.Errorf("%d agents ran", len(ran))
	}
}

// installed starts a watcher whose state is in a directory.
func (d *desk) installed(state string) {
	d.Helper()
	d.state = state
	d.config.Notes = d.notes()
	d.open()
}

// TestAnOutboxIsTakenOver from a watcher of another installation that held its lock while this one ran.
func TestAnOutboxIsTakenOver(t *testing.T) {
	said, held := &notebook{}, &atomic.Bool{}
	d := newDesk(t, func(c *Config) {
		told(said)(c)
		c.Outboxes[0].Lock = func() error {
			if held.Load() {
				return errors.New("another watcher serves it")
			}
			return nil
		}
	})
	d.response(d.submit(ask{id: "first", task: "echo first"}))
	held.Store(true)
	d.eventually("it is not served", func() bool { return said.count("the outbox is not served") == 1 })
	beat := strings.ReplaceAll(d.text(delegation.HeartbeatName), d.journal.Installation(), "0123456789abcdef")
	d.must(os.WriteFile(filepath.Join(d.outbox, delegation.HeartbeatName), []byte(beat), 0o644))
	ran := d.submit(ask{id: "ran", task: "echo twice"})
	held.Store(false)
	resp := d.response(ran)
	if resp.Error == nil || resp.Error.Code != delegation.CodeJournalLost {
		t.Errorf("what the other one may have run is answered %+v", resp)
	}
	d.eventually("the outbox is looked through", func() bool { return said.count("was looked through") == 1 })
	d.want(d.response(d.submit(ask{id: "ran", request: "anew", task: "echo anew"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.want(d.response(ask{id: "first"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestALostAnswerIsWrittenAgainWhenTheOutboxIsServed, also where the first listing could not be held: a power cut took the file, and
// the outbox is not to be had at once.
func TestALostAnswerIsWrittenAgainWhenTheOutboxIsServed(t *testing.T) {
	held := &atomic.Bool{}
	d := newDesk(t, func(c *Config) {
		c.Outboxes[0].Lock = func() error {
			if held.Load() {
				return errors.New("another process holds it")
			}
			return nil
		}
	})
	a := d.submit(ask{id: "s1", task: "echo once"})
	d.response(a)
	d.eventually("its stamp is old, and the file is not read any more", func() bool { return d.latest("s1").Firm })
	d.stop()
	d.remove("response_s1.json")
	held.Store(true)
	d.open()
	d.eventually("it is not served", func() bool { return d.watcher.boxes[0].Away.Load() })
	held.Store(false)
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.onceEach()
}
