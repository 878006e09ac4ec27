package watcher

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/thread"
	"torno/watcher/limit"
)

// burn uses processor time on a thread of its own.
func burn(busy time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := thread.Used(); thread.Used()-start < busy; {
	}
}

// processTime is what all threads of this process have used.
func processTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestWorkIsThatOfTheThread: what another goroutine does meanwhile is not charged, as the processor time of the process would be. What
// the thread does itself is.
func TestWorkIsThatOfTheThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const busy = 50 * time.Millisecond
	other := make(chan struct{})
	listing, all := new(limit.Meters).Start(), processTime(t)
	go func() { burn(busy); close(other) }()
	<-other
	if work := listing.SoFar().Work(); work > busy/2 {
		t.Errorf("%s are charged for what another goroutine did", work)
	}
	if used := processTime(t) - all; used < busy {
		t.Errorf("the process has used %s only", used)
	}
	listing = new(limit.Meters).Start()
	burn(busy)
	if work := listing.SoFar().Work(); work < busy {
		t.Errorf("%s are charged for %s of work", work, busy)
	}
}

// TestReadingTheJournalIsChargedToItsReader: a listing asks the journal about every name.
func TestReadingTheJournalIsChargedToItsReader(t *testing.T) {
	d := newLoneDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	d.ended(a)
	d.stop()
	j := d.openJournal()
	defer j.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	box := d.boxIn(j, "main")
	asking, all := new(limit.Meters).Start(), processTime(t)
	for range 500 {
		_, _, err := j.Latest(t0(), box, mustID(d, "s1"))
		d.must(err)
	}
	work, used := asking.SoFar().Work(), processTime(t)-all
	t.Logf("%s of %s", work, used)
	if work < used/2 {
		t.Errorf("%s are charged of %s", work, used)
	}
}

// TestWritingTheJournalIsChargedToWhoWrites, although another goroutine does it.
func TestWritingTheJournalIsChargedToWhoWrites(t *testing.T) {
	d := newLoneDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	key := d.ended(a).Key
	d.stop()
	j := d.openJournal()
	defer j.Close()
	var mine, others journal.Bill
	all := processTime(t)
	for range 300 {
		d.must(j.Answered(journal.Charge(t0(), &mine), key))
		_, err := j.Get(journal.Charge(t0(), &others), key)
		d.must(err)
	}
	used := processTime(t) - all
	t.Logf("%s of %s", mine.Used(), used)
	if mine.Used() < used/10 || mine.Used() > used || others.Used() != 0 {
		t.Errorf("%s and %s are charged of %s", mine.Used(), others.Used(), used)
	}
}

// TestAScanStaysOnItsThread, however much else goes on.
func TestAScanStaysOnItsThread(t *testing.T) {
	s := scanOf(t)
	threads, asked := map[int]bool{}, 0
	s.meters.Thread = func() time.Duration {
		threads[unix.Gettid()] = true
		asked++
		return 0
	}
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 500 { // each costs a turn of the scheduler
		name := delegation.CancelName(mustParse(t, numbered("s", i)))
		if err := s.dir.Publish(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan error)
	go func() { over <- s.run(ctx) }()
	for s.dir.Names(ctx, 10, func(names []string) error {
		if len(names) > 0 {
			runtime.Gosched()
			return context.Canceled
		}
		return nil
	}) != nil {
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if len(threads) != 1 || asked < 100 {
		t.Errorf("it asked %d times, on %d threads", asked, len(threads))
	}
}

func mustParse(t *testing.T, id string) delegation.SubagentID {
	t.Helper()
	parsed, err := delegation.ParseSubagentID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
