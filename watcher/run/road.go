package run

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

// Ports are what runs need of the host.
type Ports struct {
	Journal    *journal.Journal
	Notes      output.Notes
	Notices    *notice.Board
	Schedule   *schedule.Schedule
	Launchers  map[string]sandbox.Launcher                     // by the name that profiles use
	Workspaces func(sandbox.Spec) (workspace.Directory, error) // holds the workspace of a run
	Hangs      *hang.Calls                                     // calls to workspaces
	Floor      workspace.Floor
	Timing     Timing
	Log        *slog.Logger

	Life    context.Context // done when the watcher stops working, some time after it stopped taking
	Leisure context.Context // done when the watcher begins to stop; what can be left undone ends with it
	Keeps   func() bool     // what runs is left to the next watcher
}

// Road carries runs from their admission to their answer. It is what all runs share.
type Road struct {
	Ports
	disks    *workspace.Disks
	launches *hang.Calls // calls of launchers, for runs that are not released

	numbers   atomic.Int64   // of runs
	left      atomic.Int64   // sandboxes that could not be removed
	leftovers atomic.Int64   // sandboxes that have ended and are removed behind their runs
	removing  sync.Map       // by key: a channel that is closed when a sandbox that belongs to no run is gone
	runs      sync.WaitGroup // one per run that is on its road

	mu    sync.Mutex
	owned map[string]*Run // by key: every run from admission to its answer
}

// NewRoad is a road without a run.
func NewRoad(p Ports) *Road {
	return &Road{
		Ports: p, disks: workspace.NewDisks(p.Floor), launches: hang.New(p.Timing.launchCalls(), p.Log),
		owned: make(map[string]*Run),
	}
}

// Loop watches the disks until ctx is done.
func (w *Road) Loop(ctx context.Context) { w.disks.Loop(ctx) }

// Wait waits until no run is on its road any more.
func (w *Road) Wait() { w.runs.Wait() }

// Left is how many sandboxes are left, as far as is known: a call that was left behind may make one.
func (w *Road) Left() int { return int(w.left.Load()) + w.launches.Left() }

// Hung is how many calls of launchers were left behind and have not returned.
func (w *Road) Hung() int { return w.launches.Left() }

// CountLeft counts sandboxes that are left to the next watcher.
func (w *Road) CountLeft(more int) { w.left.Add(int64(more)) }

// KillAll kills what still runs.
func (w *Road) KillAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.owned {
		r.EndNow(delegation.ReasonShutdown)
	}
}

// Submit takes a request that is in the journal on its way. An earlier watcher may have begun with it, and launched nothing. It is false
// where the run is turned down, and answered so.
func (w *Road) Submit(ctx context.Context, q Request, c Client, existing *journal.Run) bool {
	r := w.newRun(q, c)
	if existing != nil {
		r.standing.now.State = existing.State
		w.countOn(r)
	}
	r.admitted = time.Now()
	w.lookAbove(r)
	w.own(r)
	if refusal := w.Schedule.Submit(ctx, &r.ticket); refusal != nil {
		w.dismiss(r, verdict{reason: delegation.ReasonRefused, refusal: refusal})
		return false
	}
	return true
}

// own registers a run with the Road until disown.
func (w *Road) own(r *Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owned[r.hash] = r
}

// dismiss concludes a run that never had a sandbox. Its caller does not wait for a journal in trouble.
func (w *Road) dismiss(r *Run, v verdict) { w.runs.Go(func() { w.conclude(r, v) }) }

func (w *Road) disown(r *Run) {
	w.mu.Lock()
	delete(w.owned, r.hash)
	w.mu.Unlock()
	r.stop(nil)
	close(r.over)
}

// Running is the run of a key while it is on its road.
func (w *Road) Running(key string) *Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned[key]
}
