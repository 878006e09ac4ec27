package watcher

import (
	"context"
	"time"

	"torno/internal/journal"
	"torno/internal/thread"
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

// effort is time that has gone by, and processor time that was used meanwhile.
type effort struct{ passed, used time.Duration }

// meter says what effort something takes, from newMeter to sofar: by the thread of its goroutine, which is locked to it, and by the
// journal's writer. What other goroutines do meanwhile is none of it. Reading the journal happens on the reader's own thread, so a
// listing pays for each name about which it asks. The few steps of the scheduler are not charged.
type meter struct {
	begin   time.Time
	used    time.Duration
	written *journal.Bill // what the writer has done for the goroutine; nil for nothing
}

func newMeter(written *journal.Bill) meter {
	m := meter{begin: time.Now(), written: written}
	m.used = m.total()
	return m
}

func (m meter) total() time.Duration {
	if m.written == nil {
		return processorTime()
	}
	return processorTime() + m.written.Used()
}

func (m meter) sofar() effort { return effort{time.Since(m.begin), m.total() - m.used} }

func (e effort) plus(other effort) effort {
	return effort{e.passed + other.passed, e.used + other.used}
}

func (e effort) minus(other effort) effort {
	return effort{e.passed - other.passed, e.used - other.used}
}

// work is what an effort counts for. Time in which the process was frozen, or waited for a disk, is none.
func (e effort) work() time.Duration { return max(0, min(e.passed, e.used)) }

// processorTime is what the calling thread has used of processors. A test puts another function in its place.
var processorTime = thread.Used
