package watcher

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/notice"
	"torno/watcher/output"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// road carries runs from their admission to their answer. It is what all runs share.
type road struct {
	journal    *journal.Journal
	notes      output.Notes
	notices    *notice.Board
	schedule   *schedule.Schedule
	disks      *workspace.Disks
	hangs      *hang.Calls // calls to workspaces
	launches   *hang.Calls // calls of launchers, for runs that are not released
	launchers  map[string]sandbox.Launcher
	workspaces func(sandbox.Spec) (workspace.Directory, error)
	floor      workspace.Floor
	timing     Timing
	log        *slog.Logger

	life    context.Context // done when the watcher stops working, some time after it stopped taking
	leisure context.Context // done when the watcher begins to stop; what can be left undone ends with it
	keeps   func() bool     // what runs is left to the next watcher

	numbers   atomic.Int64   // of runs
	left      atomic.Int64   // sandboxes that could not be removed
	leftovers atomic.Int64   // sandboxes that have ended and are removed behind their runs
	removing  sync.Map       // by key: a channel that is closed when a sandbox that belongs to no run is gone
	runs      sync.WaitGroup // one per run that is on its road

	mu    sync.Mutex
	owned map[string]*run // by key: every run from admission to its answer
}

// own makes the watcher responsible for a run until disown.
func (w *road) own(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owned[r.hash] = r
}

// dismiss concludes a run that never had a sandbox. Its caller does not wait for a journal in trouble.
func (w *road) dismiss(r *run, v verdict) { w.runs.Go(func() { w.conclude(r, v) }) }

func (w *road) disown(r *run) {
	w.mu.Lock()
	delete(w.owned, r.hash)
	w.mu.Unlock()
	r.stop(nil)
	close(r.over)
}

// running is the run of a key while it is on its road.
func (w *road) running(key string) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned[key]
}
