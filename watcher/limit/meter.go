package limit

import (
	"time"

	"torno/internal/thread"
)

// Effort says how much time has gone by, and how much processor time was used meanwhile.
type Effort struct{ passed, used time.Duration }

// Meters measures the effort of a piece of work: the processor time of its goroutine's thread and of the processes that
// work for it. The goroutine must be locked to its thread. Other goroutines do not count. The zero Meters measures the
// thread alone.
type Meters struct {
	Thread func() time.Duration // returns the processor time of the calling thread; nil to ask the kernel
	Others func() time.Duration // returns the processor time of the processes that work for it; nil if there are none
}

// Meter measures one effort, from Start to SoFar.
type Meter struct {
	meters *Meters
	begin  time.Time
	used   time.Duration
}

// Start begins a measurement.
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

// SoFar returns the effort since Start.
func (m Meter) SoFar() Effort { return Effort{time.Since(m.begin), m.meters.total() - m.used} }

// Plus returns the sum of two efforts.
func (e Effort) Plus(other Effort) Effort {
	return Effort{e.passed + other.passed, e.used + other.used}
}

// Minus returns the difference of two efforts.
func (e Effort) Minus(other Effort) Effort {
	return Effort{e.passed - other.passed, e.used - other.used}
}

// Work returns the processor time that counts. Time does not count while the process was frozen or waited for a disk.
func (e Effort) Work() time.Duration { return max(0, min(e.passed, e.used)) }
