package watcher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/attack"
	"torno/watcher/outbox"
)

// writtenAt sets the times that a file's writer can set.
func (d *desk) writtenAt(name string, at time.Time) {
	d.Helper()
	d.must(os.Chtimes(filepath.Join(d.outbox, name), at, at))
}

// TestACancelCountsWhateverTheTimesSay gives requests and sentinels times that lie ahead or far back. The oracle compares
// these times, as a host may: it would take each sentinel for one of an earlier request.
func TestACancelCountsWhateverTheTimesSay(t *testing.T) {
	trial := attack.Trial{Row: "O35", Where: "fake", Oracle: true}
	for name, c := range map[string]struct {
		request, sentinel time.Duration
		restart           bool
	}{
		"the request lies ahead":            {time.Hour, 0, false},
		"the sentinel is old":               {0, -1000 * time.Hour, false},
		"the request lies ahead, a restart": {time.Hour, 0, true},
		"the sentinel is old, a restart":    {0, -1000 * time.Hour, true},
	} {
		trial.Tried++
		if t.Run(name, func(t *testing.T) {
			d := newLoneDesk(t, nil)
			a := d.submit(ask{id: "s1", task: "sleep"})
			d.started(a)
			d.writtenAt("request_s1.json", time.Now().Add(c.request))
			d.eventually("the host has seen the file again", func() bool {
				stamp, err := d.config.Outboxes[0].Dir.Stat("request_s1.json")
				d.must(err)
				return stamp.SameFile(d.watcher.runs.Running(d.latest("s1").Key).Client().(*outbox.Admission).Reading().Stamp)
			})
			if c.restart {
				d.crash()
			}
			d.drop(d.outbox, "sentinel", nil)
			d.writtenAt("sentinel", time.Now().Add(c.sentinel))
			d.must(os.Rename(filepath.Join(d.outbox, "sentinel"), filepath.Join(d.outbox, "cancel_s1")))
			dir := d.config.Outboxes[0].Dir
			request, err := dir.Stat("request_s1.json")
			d.must(err)
			if sentinel, err := dir.Stat("cancel_s1"); err == nil {
				trial.Oracle = trial.Oracle && sentinel.ModTime.Before(request.ModTime)
			}
			if c.restart {
				d.open()
			}
			d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
			d.eventually("the sentinel is spent", func() bool { return !d.exists("cancel_s1") })
		}) {
			trial.Held++
		}
	}
	attack.Record(t, trial)
}

// TestASentinelThatNamesItsRequest ends this one's run, also when the host sees the sentinel first, and no other one's.
func TestASentinelThatNamesItsRequest(t *testing.T) {
	d := newDesk(t, nil)
	sentinel := func(request string) string {
		id, err := delegation.ParseRequestID(request)
		d.must(err)
		return delegation.CancelRequestName(mustID(d, "s1"), id)
	}
	a := d.submit(ask{id: "s1", request: "r1", task: "sleep"})
	d.started(a)
	d.touch(sentinel("r0"))
	d.touch(sentinel("r2"))
	d.touch(sentinel("r1"))
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	b := d.submit(ask{id: "s1", request: "r2", task: "sleep"})
	d.want(d.response(b), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	c := d.submit(ask{id: "s1", request: "r3", task: "echo fine"})
	d.want(d.response(c), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.remove("request_s1.json")
	d.eventually("the sentinels are gone", func() bool {
		return !d.exists(sentinel("r0")) && !d.exists(sentinel("r1")) && !d.exists(sentinel("r2"))
	})
}

// TestASentinelBeforeItsRequestDoesNotCount, whatever time it claims: the host has seen it first, or finds both and the kernel
// knows which one changed first.
func TestASentinelBeforeItsRequestDoesNotCount(t *testing.T) {
	t.Run("seen first", func(t *testing.T) {
		d := newDesk(t, nil)
		d.drop(d.outbox, "sentinel", nil)
		d.writtenAt("sentinel", time.Now().Add(time.Hour))
		d.must(os.Rename(filepath.Join(d.outbox, "sentinel"), filepath.Join(d.outbox, "cancel_s1")))
		d.eventually("it is removed", func() bool { return !d.exists("cancel_s1") })
		d.want(d.response(d.submit(ask{id: "s1", task: "echo fine"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	})
	t.Run("found together", func(t *testing.T) {
		d := newDesk(t, nil)
		d.stop()
		d.touch("cancel_s1")
		d.writtenAt("cancel_s1", time.Now().Add(time.Hour))
		a := ask{id: "s1", task: "echo fine"}
		d.eventually("the kernel's clock has gone on", func() bool {
			a = d.submit(a)
			dir := d.config.Outboxes[0].Dir
			request, err := dir.Stat("request_s1.json")
			d.must(err)
			sentinel, err := dir.Stat("cancel_s1")
			d.must(err)
			return sentinel.ChangeTime.Before(request.ChangeTime)
		})
		d.open()
		d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	})
	t.Run("of an answered request", func(t *testing.T) {
		d := newDesk(t, nil)
		d.response(d.submit(ask{id: "s1", request: "r1", task: "echo"}))
		d.touch("cancel_s1")
		d.eventually("it is removed", func() bool { return !d.exists("cancel_s1") })
		d.want(d.response(d.submit(ask{id: "s1", request: "r2", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	})
}

// TestASentinelOfNoRunIsRemoved, also where the id and the hash of the request that it names are longer than an id may be.
func TestASentinelOfNoRunIsRemoved(t *testing.T) {
	d := newDesk(t, nil)
	request, err := delegation.ParseRequestID("r0")
	d.must(err)
	for _, id := range []string{"s1", strings.Repeat("s", 128)} {
		name := delegation.CancelRequestName(mustID(d, id), request)
		d.touch(name)
		d.eventually("the sentinel of "+id+" is removed", func() bool { return !d.exists(name) })
	}
}
