// Package thread measures how much processor time a thread has used, for work that must keep to a share of a processor.
// The time of the whole process would also count the work of other goroutines, and the time by the clock would also
// count waiting.
package thread

import (
	"time"

	"golang.org/x/sys/unix"
)

// Used returns the processor time of the calling thread so far. A goroutine that compares two results must lock itself
// to its thread.
func Used() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		return time.Since(begin) // without such a clock all time that passes counts
	}
	return time.Duration(used.Nano())
}

var begin = time.Now()
