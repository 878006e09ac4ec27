package watcher

import (
	"fmt"
	"runtime"
	"testing"

	"torno/test/work"
)

// TestARunAllocatesNoMore counts what a run costs in memory and on the disk, on the fake: the test's own part is in it, and is the
// same each time. What is left to chance only adds, so the least of some series counts.
func TestARunAllocatesNoMore(t *testing.T) {
	d := newLoneDesk(t, nil)
	const runs, series = 20, 10
	allocations, flushes := 1<<30, 1<<30
	for s := range series + 1 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		flushed, _ := d.journal.Flushes()
		for i := range runs {
			a := d.submit(ask{id: fmt.Sprintf("s%d-%d", s, i), task: "echo"})
			d.settled(a)
		}
		runtime.ReadMemStats(&after)
		now, _ := d.journal.Flushes()
		if s > 0 { // the first series warms up
			allocations = min(allocations, int(after.Mallocs-before.Mallocs)/runs)
			flushes = min(flushes, now-flushed)
		}
	}
	work.Hold(t, "fake: allocations", allocations)
	work.Hold(t, fmt.Sprint("fake: flushes of ", runs, " runs"), flushes)
}
