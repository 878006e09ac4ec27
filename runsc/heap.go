package main

import (
	"runtime"
	"runtime/debug"
)

// late is how much larger than usual the heap may be before it is collected for the first time: 16 MB, which a start and
// an idle sandbox do not reach. With Go's 4 MB each of three processes would collect two or three times in every start.
const late = 400

// collectLate lets the first collection wait. From then on the heap grows as usual, because a sentry that has much to
// remember is counted in its sandbox's memory.
func collectLate() {
	usual := debug.SetGCPercent(late)
	type first struct{ _ *first }
	runtime.AddCleanup(new(first), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
