package watcher

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/boot"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// clock is the one by which the time of a desk's runs passes: the machine's, until a test puts it forward.
type clock struct {
	ahead atomic.Int64
	looks atomic.Int64 // how often it was looked at since it was put forward
}

func (c *clock) now() boot.Moment {
	c.looks.Add(1)
	return boot.Now().Add(time.Duration(c.ahead.Load()))
}

// forward has time pass for the runs that are released.
func (d *desk) forward(by time.Duration) {
	d.clock.ahead.Add(int64(by))
	d.clock.looks.Store(0)
}

// overtime has a run's time pass, as submit gives it where the request names none.
func (d *desk) overtime() { d.forward(time.Duration(unhurried) * time.Second) }

// clockSeen waits until a run's watcher has looked at the clock since it was put forward, and has done what follows from
// that: an alarm looks again only when its last look is dealt with, and no look takes more than three readings.
func (d *desk) clockSeen(a ask) {
	d.Helper()
	d.eventually("the clock is looked at", func() bool {
		return d.clock.looks.Load() > 3 || d.exists("response_"+a.id+".json")
	})
}

// shiftClock makes all that a dead watcher noted look as if somebody had set the machine's clock since. A clock that goes on by
// an hour makes what was noted an hour older.
func (d *desk) shiftClock(by time.Duration) {
	d.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.state, "journal.db"))
	d.must(err)
	_, err = db.Exec(`UPDATE runs SET created = created - ?1, starting = starting - ?1, made = made - ?1, released = released - ?1,
		started = started - ?1`, int64(by))
	d.must(err)
	d.must(db.Close())
}

// age makes the newest release that a dead watcher noted an earlier one, by every clock: the time between was spent.
func (d *desk) age(by time.Duration) {
	d.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.state, "journal.db"))
	d.must(err)
	done, err := db.Exec(`UPDATE runs SET released = released - ?1, released_up = released_up - ?1 WHERE released > 0`, int64(by))
	d.must(err)
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		d.Fatalf("the journal has no release: %v", err)
	}
	d.must(db.Close())
}

// TestAClockThatWasSetEndsNoRun: a run of an hour goes on after a watcher that dies, and a clock that is set by hours meanwhile.
func TestAClockThatWasSetEndsNoRun(t *testing.T) {
	for name, by := range map[string]time.Duration{"forwards": 5 * time.Hour, "backwards": -5 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated", timeout: 3600})
			d.started(a)
			d.crash()
			d.shiftClock(by)
			d.open()
			release()
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		})
	}
}

// TestAClockThatWasSetLengthensNoRun: a clock that was put back gives an adopted run no more time.
func TestAClockThatWasSetLengthensNoRun(t *testing.T) {
	for name, by := range map[string]time.Duration{"forwards": 5 * time.Hour, "backwards": -5 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			const half = time.Duration(unhurried) * time.Second / 2
			a := d.submit(ask{id: "s1", task: "sleep"})
			d.started(a)
			d.crash()
			d.age(half)
			d.shiftClock(by)
			d.open()
			d.forward(0)
			d.clockSeen(a)
			if d.exists("response_s1.json") {
				t.Fatal("it has ended in its time")
			}
			d.forward(half)
			d.want(d.response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
		})
	}
}

// TestAClockThatIsSetUnderALiveWatcher: init tells the time of its own clock, which decides nothing, also when the connection
// breaks and the run is attended anew.
func TestAClockThatIsSetUnderALiveWatcher(t *testing.T) {
	for name, by := range map[string]time.Duration{"forwards": 5 * time.Hour, "backwards": -5 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			d.world.SetClock(by)
			broken := make(chan struct{})
			d.world.Before(sandboxtest.OpWait, func() { <-broken })
			d.world.Fail(sandboxtest.OpWait, 1, errAway)
			a := d.submit(ask{id: "s1", task: "gated", timeout: 3600})
			d.started(a)
			close(broken)
			d.eventually("the run is attended again", func() bool { return d.world.Calls(sandboxtest.OpWait) > 1 })
			release()
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		})
	}
}

// TestADeadlineIsARecordedEnd: what ended while no watcher was there is judged by when it ended, and never by its exit code.
func TestADeadlineIsARecordedEnd(t *testing.T) {
	for name, c := range map[string]struct {
		late   bool
		clock  time.Duration // how far the clock is set
		after  bool          // after the end, and not before
		status delegation.Status
		reason delegation.Reason
	}{
		"within its time":             {status: delegation.StatusError, reason: delegation.ReasonSignalled},
		"after its time":              {late: true, status: delegation.StatusTimeout, reason: delegation.ReasonDeadline},
		"within, a clock put forward": {clock: time.Hour, status: delegation.StatusError, reason: delegation.ReasonSignalled},
		"after, a clock put back":     {late: true, clock: -time.Hour, status: delegation.StatusTimeout, reason: delegation.ReasonDeadline},
		"within, put back afterwards": {clock: -time.Hour, after: true, status: delegation.StatusError, reason: delegation.ReasonSignalled},
		"after, forward afterwards":   {late: true, clock: time.Hour, after: true, status: delegation.StatusTimeout, reason: delegation.ReasonDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			const beyond = 10 * time.Duration(unhurried) * time.Second
			d := newDesk(t, nil)
			dies := make(chan struct{})
			d.world.Register("dies", func(ctx context.Context, _ sandboxtest.ProgramIO) int {
				select {
				case <-dies:
				case <-ctx.Done():
				}
				return 128 + 9
			})
			a := d.submit(ask{id: "s1", task: "dies"})
			d.started(a)
			d.crash()
			d.age(beyond) // its time is over
			end := time.Duration(0)
			if !c.late {
				end -= beyond // it ends as long ago as it was released
			}
			if c.after {
				end -= c.clock
			}
			d.world.SetClock(end)
			close(dies)
			d.eventually("the run has ended", func() bool {
				all, err := d.world.Launcher(d.journal.Installation()).List(context.Background())
				d.must(err)
				return len(all) == 1 && all[0].State == sandbox.HandleExited
			})
			d.shiftClock(c.clock)
			d.open()
			resp := d.response(a)
			if resp.Status != c.status || resp.Reason != c.reason {
				t.Errorf("the response says %s, %s", resp.Status, resp.Reason)
			}
		})
	}
}
