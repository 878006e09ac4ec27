package watcher

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
)

// TestAYoungStampIsBelievedOnceItIsOld: after that an answered request costs a listing no reading, and what lies there is still the
// response that was published first.
func TestAYoungStampIsBelievedOnceItIsOld(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	if r := d.ended(a); r.Firm || r.Content == "" {
		t.Fatalf("the row of a request that was written just now is firm: %t, and has the content %x", r.Firm, r.Content)
	}
	published := d.stampOfResponse("s1")
	d.eventually("its stamp is old", func() bool { return d.latest("s1").Firm })
	if now := d.stampOfResponse("s1"); !now.SameFile(published) {
		t.Error("it was answered again")
	}
	d.onceEach()
}

func (d *desk) stampOfResponse(id string) delegation.Stamp {
	d.Helper()
	stamp, err := d.config.Outboxes[0].Dir.Stat("response_" + id + ".json")
	d.must(err)
	return stamp
}

// TestAParentThatWritesWithoutEnd writes one request again and again while it runs, each time with other times and the same
// bytes. It runs once, and gets its answer.
func TestAParentThatWritesWithoutEnd(t *testing.T) {
	d := newDesk(t, nil)
	tell := d.untilTold()
	a := d.submit(ask{id: "s1", task: "until-told"})
	path := filepath.Join(d.outbox, "request_s1.json")
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	d.must(err)
	defer file.Close()
	body := bytes.Clone(d.body(a))
	write := func(times int) {
		for range times {
			_, err := file.WriteAt(body, 0)
			d.must(err)
		}
	}
	write(500)
	d.started(a)
	write(500)
	tell()
	write(500)
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.ended(a)
	if ran := d.world.Released(); len(ran) != 1 {
		t.Errorf("it ran as %v", ran)
	}
}
