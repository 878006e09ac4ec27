package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"torno/delegation"
)

// TestAThousandAtOnce drops requests in faster than they can run: none is lost, none runs twice, none shares.
func TestAThousandAtOnce(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	d := newDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].MaxRunning, c.Outboxes[0].Queue = 8, 8, n })
	begin := time.Now()
	for i := range n {
		d.submit(ask{id: numbered("s", i), task: "echo"})
	}
	for i := range n {
		a := ask{id: numbered("s", i), request: "r-" + numbered("s", i)}
		if resp := d.response(a); resp.Status != delegation.StatusCompleted {
			t.Fatalf("%s: %+v %+v", a.id, resp, resp.Error)
		}
	}
	t.Logf("%d runs in %s", n, time.Since(begin).Round(time.Millisecond))
	keys := d.world.Keys()
	if len(keys) != n {
		t.Errorf("%d runs for %d requests", len(keys), n)
	}
	for _, key := range keys {
		if d.world.Started(key) != 1 {
			t.Errorf("%s was started %d times", key, d.world.Started(key))
		}
	}
	if most := d.world.MostOfAll(); most > 8 {
		t.Errorf("%d ran at once where 8 may", most)
	}
}

// TestJunkDoesNotSlowTheDoor compares the pick-up behind a great many files that mean nothing, and behind as many that
// are answered, with that of an empty outbox.
func TestJunkDoesNotSlowTheDoor(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	d := newDesk(t, nil)
	empty := d.pickUp("empty")
	for i := range n {
		d.must(os.WriteFile(filepath.Join(d.outbox, numbered("junk", i)), nil, 0o644))
	}
	junk := d.pickUp("junk")
	t.Logf("admission behind nothing %s, behind %d junk files %s", empty, n, junk)
	if junk > 3*empty+5*time.Millisecond {
		t.Errorf("junk slows the door from %s to %s", empty, junk)
	}
}

// pickUp is the median time from a rename to the journal's record.
func (d *desk) pickUp(name string) time.Duration {
	d.Helper()
	var all []time.Duration
	for i := range 15 {
		a := d.submit(ask{id: fmt.Sprint(name, i), task: "echo"})
		info, err := os.Stat(filepath.Join(d.outbox, "request_"+a.id+".json"))
		d.must(err)
		r := d.ended(a)
		all = append(all, r.Created.Sub(info.ModTime()))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
