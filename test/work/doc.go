// Package work counts what one run costs the watcher: calls of the engine, system calls, allocations, flushes. Seconds are noise
// on a machine that others use as well; counts are not. counts.txt says what was counted last, and a test fails when a run costs
// more:
//
//	work.Hold(t, "docker: engine calls", len(calls))
//
// Package watcher holds its allocations and flushes against the same file, and cmd/model-gateway what a request to a model costs.
package work
