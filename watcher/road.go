package watcher

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/notice"
	"torno/watcher/output"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// ports are what runs need of the host.
type ports struct {
	journal    *journal.Journal
	notes      output.Notes
	notices    *notice.Board
	schedule   *schedule.Schedule
	launchers  map[string]sandbox.Launcher                     // by the name that profiles use
	workspaces func(sandbox.Spec) (workspace.Directory, error) // holds the workspace of a run
	hangs      *hang.Calls                                     // calls to workspaces
	floor      workspace.Floor
	timing     Timing
	log        *slog.Logger

	life    context.Context // done when the watcher stops working, some time after it stopped taking
	leisure context.Context // done when the watcher begins to stop; what can be left undone ends with it
	keeps   func() bool     // what runs is left to the next watcher
}

// road carries runs from their admission to their answer. It is what all runs share.
type road struct {
	ports
	disks    *workspace.Disks
	launches *hang.Calls // calls of launchers, for runs that are not released

	numbers   atomic.Int64   // of runs
	left      atomic.Int64   // sandboxes that could not be removed
	leftovers atomic.Int64   // sandboxes that have ended and are removed behind their runs
	removing  sync.Map       // by key: a channel that is closed when a sandbox that belongs to no run is gone
	runs      sync.WaitGroup // one per run that is on its road

	mu    sync.Mutex
	owned map[string]*run // by key: every run from admission to its answer
}

func newRoad(p ports) *road {
	return &road{
		ports: p, disks: workspace.NewDisks(p.floor), launches: hang.New(p.timing.launchCalls(), p.log),
		owned: make(map[string]*run),
	}
}

// loop watches the disks until ctx is done.
func (w *road) loop(ctx context.Context) { w.disks.Loop(ctx) }

// wait waits until no run is on its road any more.
func (w *road) wait() { w.runs.Wait() }

// Left is how many sandboxes are left, as far as is known: a call that was left behind may make one.
func (w *road) Left() int { return int(w.left.Load()) + w.launches.Left() }

// Hung is how many calls of launchers were left behind and have not returned.
func (w *road) Hung() int { return w.launches.Left() }

// CountLeft counts a sandbox that is left to the next watcher.
func (w *road) CountLeft() { w.left.Add(1) }

// hurry kills what still runs.
func (w *road) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.owned {
		r.endNow(delegation.ReasonShutdown)
	}
}

// Carry takes a request that is in the journal on its way. An earlier watcher may have begun with it, and launched nothing. It is false
// where the run is turned down, and answered so.
func (w *road) Carry(ctx context.Context, q request, c client, existing *journal.Run) bool {
	r := w.newRun(q, c)
	if existing != nil {
		r.state = existing.State
		w.countOn(r)
	}
	r.admitted = time.Now()
	w.lookAbove(r)
	w.own(r)
	if refusal := w.schedule.Submit(ctx, &r.ticket); refusal != nil {
		w.dismiss(r, verdict{reason: delegation.ReasonRefused, refusal: refusal})
		return false
	}
	return true
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
