package watcher

import (
	"context"
	"syscall"
	"time"
)

// longestRest bounds a single rest of what clients wait for. What is still owed behind it is rested for behind the next pieces
// of work.
const longestRest = time.Second

// thrift keeps work that is not urgent to a share of a core: after each piece it rests in proportion to what it took. Up
// to burst of rest may be owed, so that a little work is not slowed down at all.
type thrift struct {
	share   int
	burst   time.Duration
	longest time.Duration // of one rest; 0 for no bound

	until time.Time // when the rest for all earlier work is over
}

// spent rests for some work that was done just now, unless ctx is done.
func (p *thrift) spent(ctx context.Context, work time.Duration) {
	now := time.Now()
	if begin := now.Add(-work); p.until.Before(begin) {
		p.until = begin
	}
	p.until = p.until.Add(work * time.Duration(p.share))
	rest := p.until.Sub(now) - p.burst
	if p.longest > 0 {
		rest = min(rest, p.longest)
	}
	if rest <= 0 {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// effort is time that has gone by, and time of processors that this process has used meanwhile.
type effort struct{ passed, used time.Duration }

// meter says what effort something takes, from newMeter to sofar.
type meter struct {
	begin time.Time
	used  time.Duration
}

func newMeter() meter { return meter{time.Now(), processorTime()} }

func (m meter) sofar() effort { return effort{time.Since(m.begin), processorTime() - m.used} }

func (e effort) plus(other effort) effort {
	return effort{e.passed + other.passed, e.used + other.used}
}

func (e effort) minus(other effort) effort {
	return effort{e.passed - other.passed, e.used - other.used}
}

// work is what an effort counts for. Time in which the process was frozen, or waited for a disk, is none; nor is what others
// in this process did, beyond the time that has gone by.
func (e effort) work() time.Duration { return max(0, min(e.passed, e.used)) }

// processorTime is what this process has used of processors. A test puts another one in its place.
var processorTime = func() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return time.Since(processStart) // every moment counts, as where nobody tells them apart
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var processStart = time.Now()
