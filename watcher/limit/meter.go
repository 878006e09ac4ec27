package limit

import (
	"time"

	"torno/internal/thread"
)

// Effort is time that has gone by, and processor time that was used meanwhile.
type Effort struct{ passed, used time.Duration }

// Meters measure the effort of a piece of work: the time of its goroutine's thread, to which it must be locked, and of the
// processes that work for it. Other goroutines do not count. The zero Meters measure the thread alone.
type Meters struct {
	Thread func() time.Duration // what the calling thread has used of processors; nil for the kernel's word
	Others func() time.Duration // what others have used for it; nil for nothing
}

// Meter measures one effort, from Start to SoFar.
type Meter struct {
	meters *Meters
	begin  time.Time
	used   time.Duration
}

// Start begins to measure.
func (m *Meters) Start() Meter { return Meter{meters: m, begin: time.Now(), used: m.total()} }

func (m *Meters) total() (used time.Duration) {
	if m.Thread != nil {
		used = m.Thread()
	} else {
		used = thread.Used()
	}
	if m.Others != nil {
		used += m.Others()
	}
	return used
}

// SoFar is the effort since Start.
func (m Meter) SoFar() Effort { return Effort{time.Since(m.begin), m.meters.total() - m.used} }

// Plus adds another effort.
func (e Effort) Plus(other Effort) Effort {
	return Effort{e.passed + other.passed, e.used + other.used}
}

// Minus takes another effort off.
func (e Effort) Minus(other Effort) Effort {
	return Effort{e.passed - other.passed, e.used - other.used}
}

// Work is the processor time that counts. Time in which the process was frozen, or waited for a disk, does not count.
func (e Effort) Work() time.Duration { return max(0, min(e.passed, e.used)) }
