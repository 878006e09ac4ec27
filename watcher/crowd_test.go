package watcher

import (
	"fmt"
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
)

// TestACrowdDoesNotSlowTheDoor compares the pick-up in an outbox full of files with that in an empty one, in turns.
func TestACrowdDoesNotSlowTheDoor(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	for _, crowd := range crowds {
		t.Run(crowd.name, func(t *testing.T) {
			empty, crowded := atTheDoor(t, n, crowd.fill)
			t.Logf("behind nothing %s, behind %d %s %s", empty, n, crowd.name, crowded)
			if crowded > 2*empty+2*time.Millisecond {
				t.Errorf("%d %s slow the door from %s to %s", n, crowd.name, empty, crowded)
			}
		})
	}
}

// BenchmarkCrowd is the same with a crowd that should not happen.
func BenchmarkCrowd(b *testing.B) {
	for _, crowd := range crowds {
		b.Run(crowd.name, func(b *testing.B) {
			for range b.N {
				empty, crowded := atTheDoor(b, 100_000, crowd.fill)
				b.ReportMetric(float64(crowded)/float64(empty), "of-empty")
				b.ReportMetric(float64(crowded.Microseconds()), "µs/pick-up")
			}
		})
	}
}

var crowds = []struct {
	name string
	fill func(*desk, int)
}{
	{"junk files", (*desk).fillWithJunk},
	{"answered requests", (*desk).fillWithAnswers},
}

// atTheDoor is the shortest time from a rename until it is noticed, in an empty outbox and in a full one, whose first listing is
// over. Load only adds to it; a look at all files would be in each.
func atTheDoor(t testing.TB, n int, fill func(*desk, int)) (empty, crowded time.Duration) {
	t.Helper()
	full, free := newLoneDesk(t, nil), newDesk(t, nil)
	full.stop()
	full.journal = full.openJournal()
	fill(full, n)
	full.must(full.journal.Close())
	listed := full.lastListed()
	full.open()
	listed()
	empty, crowded = time.Hour, time.Hour
	for i := range 30 {
		empty = min(empty, free.pickUp(fmt.Sprint("door", i)))
		crowded = min(crowded, full.pickUp(fmt.Sprint("door", i)))
	}
	return empty, crowded
}

// lastListed takes away the response that a listing comes to last, if there are any. The first listing puts it back; what
// is returned waits for that.
func (d *desk) lastListed() (wait func()) {
	d.Helper()
	dir, err := os.Open(d.outbox)
	d.must(err)
	defer dir.Close()
	names, err := dir.Readdirnames(-1) // in the order that the watcher sees
	d.must(err)
	for _, name := range slices.Backward(names) {
		if kind, id := delegation.ParseName(name); kind == delegation.KindRequest {
			d.remove("response_" + id + ".json")
			return func() { d.settled(ask{id: id, outbox: d.outbox}) }
		}
	}
	return func() {}
}

func (d *desk) openJournal() *journal.Journal {
	d.Helper()
	j, err := journal.Open(d.Context(), filepath.Join(d.state, "journal.db"))
	d.must(err)
	return j
}

// pickUp is the time from a rename until it was noticed, as the journal has it.
func (d *desk) pickUp(id string) time.Duration {
	d.Helper()
	a := d.submit(ask{id: id, task: "echo"})
	info, err := os.Stat(filepath.Join(d.outbox, "request_"+a.id+".json"))
	d.must(err)
	r := d.ended(a)
	return r.Created.Sub(info.ModTime())
}

func (d *desk) fillWithJunk(n int) {
	for i := range n {
		d.must(os.WriteFile(filepath.Join(d.outbox, numbered("junk", i)), nil, 0o644))
	}
}

// fillWithAnswers leaves n requests that ran and their responses, and what the journal has of them.
func (d *desk) fillWithAnswers(n int) {
	d.Helper()
	var writers sync.WaitGroup
	defer writers.Wait()
	next := make(chan int)
	defer close(next)
	for range 16 { // who waits together shares a flush
		writers.Go(func() {
			for i := range next {
				d.leaveAnswer(numbered("old", i))
			}
		})
	}
	for i := range n {
		next <- i
	}
}

func (d *desk) leaveAnswer(id string) {
	request := filepath.Join(d.outbox, "request_"+id+".json")
	err := os.WriteFile(request, []byte(strings.Repeat("x", 400)), 0o644)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.outbox, "response_"+id+".json"), []byte("{}"), 0o644)
	}
	var read delegation.Reading
	if err == nil {
		_, read, err = d.config.Outboxes[0].Dir.ReadRequest(filepath.Base(request), 1<<20)
	}
	if err == nil {
		read.Firm = true // they are old
		err = d.record(id, read)
	}
	if err != nil {
		d.Error(err)
	}
}

// record writes down a run that has ended and is answered.
func (d *desk) record(id string, read delegation.Reading) error {
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return err
	}
	request, err := delegation.ParseRequestID("r-" + id)
	if err != nil {
		return err
	}
	key := sandbox.RunKey{Outbox: d.box("main"), Subagent: subagent, Request: request, Attempt: 1}
	zero := 0
	_, err = d.journal.Begin(d.Context(), journal.Run{
		Key: key.Hash(), Outbox: key.Outbox, Subagent: subagent, Request: request, Attempt: 1, FileName: "request_" + id + ".json",
		Stamp: read.Stamp, Content: read.Content, Firm: read.Firm, State: delegation.StateEnded, Reason: delegation.ReasonExited, ExitCode: &zero, Ended: time.Now(), Answered: true,
	})
	return err
}
