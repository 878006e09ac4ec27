package watcher

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// files are a run's segments, by name.
func (d *desk) files(id string) map[string]string {
	d.Helper()
	paths, err := filepath.Glob(filepath.Join(d.outbox, "events_"+id+".*.jsonl"))
	d.must(err)
	files := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed since
		}
		d.must(err)
		files[filepath.Base(path)] = string(data)
	}
	return files
}

// listed waits until a whole listing has begun and ended. An old temporary file is removed by the listing that comes to it.
func (d *desk) listed() {
	d.Helper()
	for _, name := range []string{".torno-1", ".torno-2"} {
		path, old := filepath.Join(d.outbox, name), time.Now().Add(-time.Hour)
		aside := filepath.Join(d.TempDir(), name)
		d.must(os.WriteFile(aside, nil, 0o644))
		d.must(os.Chtimes(aside, old, old))
		d.must(os.Rename(aside, path))
		d.eventually("the outbox was listed", func() bool { return !d.exists(name) })
	}
}

// unread wants what a slow client has not read yet to lie there as it was.
func (d *desk) unread(id string, before map[string]string) {
	d.Helper()
	now := d.files(id)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if content, there := now[name]; !there {
			d.Errorf("%s was removed unread", name)
		} else if content != before[name] {
			d.Errorf("%s was changed from\n%sto\n%s", name, before[name], content)
		}
	}
}

// inOrder wants the events of a run to count on, from segment to segment and from watcher to watcher.
func (d *desk) inOrder(id string) {
	d.Helper()
	files := d.files(id)
	number := func(name string) int { _, _, n, _ := delegation.ParseEventsName(name); return n }
	last := int64(0)
	for _, name := range slices.SortedFunc(maps.Keys(files), func(a, b string) int { return number(a) - number(b) }) {
		events, err := delegation.DecodeEvents([]byte(files[name]))
		d.must(err)
		for _, e := range events {
			if e.Seq != last+1 && e.Type != delegation.EventGap {
				d.Errorf("%s: event %d follows %d", name, e.Seq, last)
			}
			last = e.Seq
		}
	}
}

// partings are the ways in which a watcher can go before the next one comes.
var partings = map[string]func(*desk){
	"it keeps its runs": func(d *desk) { d.watcher.Keep(); d.stop() },
	"it drains":         func(d *desk) { d.stop() },
	"kill -9":           func(d *desk) { d.crash() },
}

// TestLiveOutputOfAnEndedRunWaitsForASlowClient: the next watcher leaves it there too, and removes it with the request.
func TestLiveOutputOfAnEndedRunWaitsForASlowClient(t *testing.T) {
	for name, part := range partings {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			a := d.submit(ask{id: "s1", task: "lines 3 0.3"})
			d.ended(a)
			before := d.files("s1")
			part(d)
			d.open()
			d.listed()
			d.unread("s1", before)
			d.inOrder("s1")
			d.remove("request_s1.json")
			d.eventually("the live output goes with the request", func() bool { return len(d.files("s1")) == 0 })
		})
	}
}

// TestLiveOutputOfALiveRunWaitsForASlowClient, whether the run ends while no watcher is there or goes on.
func TestLiveOutputOfALiveRunWaitsForASlowClient(t *testing.T) {
	for _, name := range []string{"it keeps its runs", "kill -9"} {
		for when, meanwhile := range map[string]bool{"it ends meanwhile": true, "it goes on": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				d := newDesk(t, nil)
				release := d.gate()
				a := d.submit(ask{id: "s1", task: "gated"})
				d.started(a)
				d.printed("s1", "before\n")
				before := d.files("s1")
				partings[name](d)
				if meanwhile {
					release()
					d.hasExited()
				}
				d.open()
				d.listed()
				release()
				d.ended(a)
				d.listed()
				d.unread("s1", before)
				d.inOrder("s1")
				if text, gaps := d.live("s1"); text != "before\nafter\n" || gaps != 0 {
					t.Errorf("the live output is %q with %d gaps", text, gaps)
				}
			})
		}
	}
}

// hasExited waits until every sandbox has ended by itself.
func (d *desk) hasExited() {
	d.Helper()
	d.eventually("the sandboxes have ended", func() bool {
		all, err := d.world.Launcher(d.journal.Installation()).List(t0())
		d.must(err)
		return !slices.ContainsFunc(all, func(h sandbox.Handle) bool { return h.State != sandbox.HandleExited })
	})
}

// TestTheNextSandboxOfARunCountsOn: what a slow client has read of a lost attempt, or of a sandbox that was never released, is not
// published anew under the same names.
func TestTheNextSandboxOfARunCountsOn(t *testing.T) {
	for name, c := range map[string]struct {
		hold bool   // the first watcher goes while the sandbox holds
		part string // how the first watcher goes; "" where the sandbox is lost under it
	}{
		"a hold, kept":          {true, "it keeps its runs"},
		"a hold, kill -9":       {true, "kill -9"},
		"lost":                  {false, ""},
		"lost with its watcher": {false, "kill -9"},
		"lost after a kept one": {false, "it keeps its runs"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
			release := d.gate()
			held := make(chan struct{})
			free := sync.OnceFunc(func() { close(held) })
			defer free()
			holds := make(chan struct{}, 10)
			if c.hold {
				d.world.Before(sandboxtest.OpAttest, func() {
					holds <- struct{}{}
					<-held
				})
			}
			a := d.submit(ask{id: "s1", task: "gated"})
			if c.hold {
				<-holds
			} else {
				d.started(a)
				d.printed("s1", "before\n")
			}
			d.eventually("there is live output", func() bool { return len(d.files("s1")) > 0 })
			before := d.files("s1")
			var handle sandbox.Handle
			if !c.hold {
				handle = *d.latest("s1").Handle
			}
			d.world.Before(sandboxtest.OpAttest, nil)
			switch {
			case c.part == "kill -9":
				d.crash(free)
			case c.hold:
				d.watcher.Keep()
				d.watcher.endLife()
				free()
				d.stop()
			case c.part != "":
				partings[c.part](d)
			}
			if !c.hold {
				d.world.Vanish(handle)
			}
			if c.part != "" {
				d.open()
			}
			release()
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.ended(a)
			d.unread("s1", before)
			d.inOrder("s1")
			text, gaps := d.live("s1")
			if want := "before\nafter\n"; !strings.HasSuffix(text, want) {
				t.Errorf("the live output is %q", text)
			}
			if lost := !c.hold; lost != (gaps > 0) {
				t.Errorf("the live output has %d gaps", gaps)
			}
		})
	}
}

// TestTheEndOfARunWithoutARequestIsNotLeft: its client goes while no watcher is there, and the next one, which publishes the end of
// what the run printed, takes that away again.
func TestTheEndOfARunWithoutARequestIsNotLeft(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.printed("s1", "before\n")
	record := d.latest("s1")
	d.crash()
	j := d.openJournal()
	d.must(j.Move(t0(), record.Key, record.State, delegation.StateEnded, journal.Change{
		Reason: delegation.ReasonExited, ExitCode: new(int), Ended: time.Now(),
	}))
	d.must(j.Close())
	release()
	d.must(os.Remove(filepath.Join(d.outbox, "request_s1.json")))
	d.open()
	d.eventually("nothing of the run is left", func() bool { return len(d.files("s1")) == 0 })
}

// TestAnEndThatWasNotPublishedIsSaid in the stream: a watcher dies after the journal's word that the run has ended, before its last
// segment.
func TestAnEndThatWasNotPublishedIsSaid(t *testing.T) {
	for name, lost := range map[string]bool{"it ended": false, "it was lost": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated"})
			d.started(a)
			d.printed("s1", "before\n")
			before, record := d.files("s1"), d.latest("s1")
			d.crash()
			if lost {
				d.world.Vanish(*record.Handle)
			} else {
				j := d.openJournal()
				d.must(j.Move(t0(), record.Key, record.State, delegation.StateEnded, journal.Change{
					Reason: delegation.ReasonExited, ExitCode: new(int), Ended: time.Now(),
				}))
				d.must(j.Close())
			}
			release()
			d.open()
			d.ended(a)
			d.listed()
			d.unread("s1", before)
			d.inOrder("s1")
			if _, gaps := d.live("s1"); gaps != 1 {
				t.Errorf("there are %d gaps", gaps)
			}
			if said := strings.Join(slices.Sorted(maps.Values(d.files("s1"))), ""); strings.Count(said, `"state":"ended"`) != 1 {
				t.Errorf("the end is not said once: %s", said)
			}
		})
	}
}
