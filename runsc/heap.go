package main

import (
	"runtime"
	"runtime/debug"
)

// late is the growth, in percent, that the heap may reach before its first collection. It allows 16 MB, which a start
// and an idle sandbox do not reach. With Go's usual 4 MB, each of three processes would collect two or three times in
// every start.
const late = 400

// collectLate delays the first collection. After it the heap grows as usual, because the memory of a sentry counts as
// memory of its sandbox.
func collectLate() {
	usual := debug.SetGCPercent(late)
	type first struct{ _ *first }
	runtime.AddCleanup(new(first), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
