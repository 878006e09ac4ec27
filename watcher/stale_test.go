package watcher

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/journal"
	"torno/test/attack"
)

// oblivions are ways in which the row of a run can be gone, and how old its request is when it comes back.
var oblivions = map[string]struct {
	old    time.Duration
	forget func(*desk)
}{
	"the key is known": {time.Minute, (*desk).pruneNow},
	"the key is dropped": {2 * time.Hour, func(d *desk) {
		d.pruneNow()
		_, err := d.journal.DropKeys(d.Context(), d.box("main"), time.Now().Add(time.Hour), 10)
		d.must(err)
	}},
}

// TestAPrunedRunDoesNotRunAgain brings a request back after its row is gone, and after its key is gone too. As long as
// one of key, horizon and age is asked, it is refused; the world counts what ran. Where the journal itself is gone,
// and nothing tells that the outbox was served, it runs.
func TestAPrunedRunDoesNotRunAgain(t *testing.T) {
	trial := attack.Trial{Row: "O34", Where: "fake"}
	for name, c := range oblivions {
		trial.Tried++
		if t.Run(name, func(t *testing.T) {
			d := newLoneDesk(t, nil)
			resp := d.comesBack(c.old, c.forget)
			d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
			if resp.Error == nil || resp.Error.Code != delegation.CodeStale {
				t.Errorf("the response is %+v", resp)
			}
			if ran := d.world.Released(); len(ran) != 1 {
				t.Errorf("%v ran", ran)
			}
		}) {
			trial.Held++
		}
	}
	trial.Oracle = t.Run("nothing is remembered", func(t *testing.T) {
		d := newLoneDesk(t, nil)
		d.want(d.comesBack(time.Minute, (*desk).forgetAll), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if ran := d.world.Released(); len(ran) != 2 {
			t.Errorf("%v ran", ran)
		}
	})
	attack.Record(t, trial)
}

// comesBack is the answer to a request that was answered, taken away, forgotten and copied out of a backup.
func (d *desk) comesBack(old time.Duration, forget func(*desk)) delegation.Response {
	d.Helper()
	path := filepath.Join(d.outbox, "request_s1.json")
	a := d.submit(ask{id: "s1", task: "echo"})
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.ended(a)
	body, err := os.ReadFile(path)
	d.must(err)
	d.remove("request_s1.json")
	forget(d)
	d.eventually("the response is cleared", func() bool { return !d.exists("response_s1.json") })
	backup := filepath.Join(d.outbox, "from-the-backup")
	d.must(os.WriteFile(backup, body, 0o644))
	then := time.Now().Add(-old)
	d.must(os.Chtimes(backup, then, then))
	d.must(os.Rename(backup, path))
	return d.response(a)
}

// forgetAll gives the watcher another journal, and has nothing tell that the outbox was served.
func (d *desk) forgetAll() {
	d.Helper()
	d.eventually("the response is cleared", func() bool { return !d.exists("response_s1.json") })
	d.stop()
	files, err := filepath.Glob(filepath.Join(d.state, "journal.db*"))
	d.must(err)
	for _, file := range files {
		d.must(os.Remove(file))
	}
	d.remove(delegation.HeartbeatName)
	d.open()
}

func TestOldRequests(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		want delegation.Reason
	}{
		"a new one":           {0, delegation.ReasonExited},
		"an old one":          {59 * time.Minute, delegation.ReasonExited},
		"too old":             {61 * time.Minute, delegation.ReasonRefused},
		"a clock that leads":  {-time.Hour, delegation.ReasonExited},
		"from another future": {-journal.MaxSkew - time.Minute, delegation.ReasonRefused},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Retention.MaxRequestAge = time.Hour })
			a := d.submitAged("s1", c.age)
			if resp := d.response(a); resp.Reason != c.want || c.want == delegation.ReasonRefused && resp.Error.Code != delegation.CodeStale {
				t.Errorf("the response is %+v, %+v", resp, resp.Error)
			}
		})
	}
}

// submitAged is submit for a file that was written elsewhere, at another time, and then moved.
func (d *desk) submitAged(id string, age time.Duration) ask {
	d.Helper()
	aside, workspace := d.TempDir(), filepath.Join(d.outbox, "workspaces", id)
	d.must(os.MkdirAll(workspace, 0o755))
	a := d.submit(ask{id: id, task: "echo", outbox: aside, workspace: workspace})
	path, then := filepath.Join(aside, "request_"+id+".json"), time.Now().Add(-age)
	d.must(os.Chtimes(path, then, then))
	d.must(os.Rename(path, filepath.Join(d.outbox, "request_"+id+".json")))
	a.outbox = d.outbox
	return a
}

// TestARequestThatWaitedHereIsNotTooOld: what the journal knows is taken up after any downtime.
func TestARequestThatWaitedHereIsNotTooOld(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	holder := d.submit(ask{id: "holder", task: "sleep"})
	d.started(holder)
	waits := d.submit(ask{id: "s1", task: "echo"})
	d.eventually("it waits", func() bool { return d.exists("status_s1.json") })
	d.crash()
	d.config.Retention.MaxRequestAge = time.Nanosecond
	d.open()
	d.remove("request_holder.json")
	d.want(d.response(waits), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// TestAnAnswerToTheYear2400 has the next watcher list a request whose time 64 bits of nanoseconds do not hold: the journal knows
// it, and its answer is not written anew.
func TestAnAnswerToTheYear2400(t *testing.T) {
	d := newLoneDesk(t, nil)
	aside := filepath.Join(d.outbox, "aside")
	d.must(os.WriteFile(aside, d.body(ask{id: "s1", task: "echo"}), 0o644))
	then := unix.Timespec{Sec: 13_600_000_000}
	d.must(unix.UtimesNanoAt(unix.AT_FDCWD, aside, []unix.Timespec{then, then}, 0))
	d.must(os.Rename(aside, filepath.Join(d.outbox, "request_s1.json")))
	d.eventually("the answer", func() bool { return d.exists("response_s1.json") })
	first, err := os.Stat(filepath.Join(d.outbox, "response_s1.json"))
	d.must(err)
	d.stop()
	d.open()
	d.want(d.response(d.submit(ask{id: "s2", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	second, err := os.Stat(filepath.Join(d.outbox, "response_s1.json"))
	d.must(err)
	if !os.SameFile(first, second) {
		t.Error("it is answered again")
	}
}
