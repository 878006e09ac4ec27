package limit

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"torno/internal/thread"
	"torno/test/wait"
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
	listing, all := new(Meters).Start(), processTime(t)
	for work, used := busy, busy; 2*work > used; work, used = listing.SoFar().Work(), processTime(t)-all {
		if used > wait.Patience {
			t.Fatalf("%s are charged, and the process has used %s in all: what another goroutine does is charged", work, used)
		}
		other := make(chan struct{})
		go func() { burn(busy); close(other) }()
		<-other
	}
	listing = new(Meters).Start()
	burn(busy)
	if work := listing.SoFar().Work(); work < busy {
		t.Errorf("%s are charged for %s of work", work, busy)
	}
}
