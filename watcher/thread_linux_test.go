package watcher

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"torno/internal/journal"
	"torno/watcher/limit"
)

// processTime is what all threads of this process have used.
func processTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
	d.eventually("most of what the process does is charged to its reader", func() bool {
		asking, all := new(limit.Meters).Start(), processTime(t)
		for range 500 {
			_, _, err := j.Latest(t0(), box, mustID(d, "s1"))
			d.must(err)
		}
		work, used := asking.SoFar().Work(), processTime(t)-all
		t.Logf("%s of %s", work, used)
		return work > used/2
	})
}

// TestWritingTheJournalIsChargedToWhoWrites, although another goroutine does it.
func TestWritingTheJournalIsChargedToWhoWrites(t *testing.T) {
	d := newLoneDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	key := d.ended(a).Key
	d.stop()
	j := d.openJournal()
	defer j.Close()
	d.eventually("a part of what the process does is charged to the writer", func() bool {
		var mine, others journal.Bill
		all := processTime(t)
		for range 300 {
			d.must(j.NoteAnswered(journal.Charge(t0(), &mine), key))
			_, err := j.Get(journal.Charge(t0(), &others), key)
			d.must(err)
		}
		used := processTime(t) - all
		t.Logf("%s of %s", mine.Used(), used)
		if mine.Used() > used || others.Used() != 0 {
			t.Errorf("%s and %s are charged of %s", mine.Used(), others.Used(), used)
		}
		return mine.Used() > used/10
	})
}
