package run

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/boot"
	"torno/internal/journal"
	"torno/internal/tree"
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
	Resources  []Resource                                      // what runs have beside their sandboxes, in the order in which it is acquired
	Session    func(sandbox.SandboxID, agent.Part)             // takes a part of what an agent needs to go on; nil where that is not kept
	Launchers  map[string]sandbox.Launcher                     // by the name that profiles use
	Prepared   map[string]Prepared                             // by the same names: of launchers that have sandboxes made ahead
	Workspaces func(sandbox.Spec) (workspace.Directory, error) // holds the workspace of a run
	Hangs      *hang.Calls                                     // calls to workspaces
	Kept       Kept                                            // what becomes of workspaces behind runs; nil where nothing does
	Floor      workspace.Floor
	Timing     Timing
	Clock      boot.Clock // by which the time of runs passes; zero means boot.Machine
	Log        *slog.Logger

	Life    context.Context // done when the watcher stops working, some time after it stopped taking
	Leisure context.Context // done when the watcher begins to stop; what can be left undone ends with it
	Keeps   func() bool     // what runs is left to the next watcher
}

// Reads are the places, but for workspaces and the operator's programs, that runs which are not over may read.
func (runs *Runs) Reads() (places []string) {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for _, r := range runs.owned {
		for _, m := range r.spec.Mounts {
			if !m.Workspace && !m.Programs {
				places = append(places, filepath.Join(m.Source.Base, m.Source.Rel))
			}
		}
	}
	return places
}

// Disk is what the workspace of a run on its way holds, as it was seen last; 0 where it was not.
func (runs *Runs) Disk(key string) int64 {
	r := runs.Running(key)
	if r == nil {
		return 0
	}
	if held := runs.claims.held(r); held != nil {
		return held.Bytes()
	}
	return 0
}

// Kept looks after workspaces behind the runs in them.
type Kept interface {
	Begin(ctx context.Context, outbox string, id delegation.SubagentID, held tree.ID, made bool) // before anything runs there
	End(ctx context.Context, outbox string, id delegation.SubagentID, bytes int64)               // bytes is 0 where it is not known
	// Copy makes the workspace of a subagent, unless it is made, as a copy of what the spec says, and returns what its parent should know.
	// A *delegation.Refusal says why there is none.
	Copy(ctx context.Context, outbox string, id delegation.SubagentID, spec sandbox.Spec, room func(tree.Space) error) (warnings []string, err error)
}

// Runs carries runs from their admission to their answer. It owns the list of those that are on their way; the rest of what runs
// share belongs to its parts.
type Runs struct {
	Ports
	Removals *Removals
	calls    *calls
	claims   *claims
	kin      *kin
	disks    *workspace.Disks

	numbers atomic.Int64   // of runs
	carried sync.WaitGroup // one per run that is on its way

	mu    sync.Mutex
	owned map[string]*Run // by key: every run from admission to its answer
}

// NewRuns makes Runs that carry none yet.
func NewRuns(p Ports) *Runs {
	if p.Clock.Now == nil {
		p.Clock = boot.Machine
	}
	if len(p.Prepared) > 0 {
		p.Resources = append(slices.Clone(p.Resources), claimed(p.Prepared))
	}
	c := newCalls(p)
	return &Runs{
		Ports: p, Removals: newRemovals(p, c), calls: c, claims: newClaims(), kin: newKin(), disks: workspace.NewDisks(p.Floor), owned: make(map[string]*Run),
	}
}

// Loop watches the disks, and ends the children of runs that end, until ctx is done.
func (runs *Runs) Loop(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { runs.disks.Loop(ctx) })
	both.Go(func() { runs.endOrphans(ctx) })
	both.Wait()
}

// Wait waits until no run is on its way any more, and nothing is removed.
func (runs *Runs) Wait() {
	runs.carried.Wait()
	runs.Removals.work.Wait() // a run may have left its sandbox to them
}

// Hung is how many calls of launchers were left behind and have not returned.
func (runs *Runs) Hung() int { return runs.calls.launches.Left() }

// KillAll kills what still runs.
func (runs *Runs) KillAll() {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for _, r := range runs.owned {
		r.EndNow(delegation.ReasonShutdown)
	}
}

// Submit takes a request that is in the journal on its way. An earlier watcher may have begun with it, and launched nothing. It is false
// where the run is turned down, and answered so.
func (runs *Runs) Submit(ctx context.Context, q Request, c Client, existing *journal.Run) bool {
	r := runs.newRun(q, q.Spec, c)
	if existing != nil {
		r.standing.now.Phase, r.sandbox = phaseOf(existing.State), existing.Sandbox
		r.countOn()
	}
	r.admitted = time.Now()
	r.lookAbove()
	runs.own(r.Run)
	if refusal := runs.Schedule.Submit(ctx, &r.ticket); refusal != nil {
		runs.dismiss(r, verdict{reason: delegation.ReasonRefused, refusal: refusal})
		return false
	}
	return true
}

// lookAbove finds out which directory a run will work in, and what lies above it. Where there is none now, or its file system
// does not answer, the run is looked at when it is about to start, as every other one is.
func (r *Run) lookAbove() {
	held, err := workspace.Open(r.runs.Life, r.runs.Hangs, r.runs.Workspaces, r.spec)
	if err != nil {
		return
	}
	r.ticket.Above = held.AboveThen
	held.Close()
}

// own registers a run until disown.
func (runs *Runs) own(r *Run) {
	runs.claims.enter(r)
	runs.mu.Lock()
	runs.owned[r.hash] = r
	runs.mu.Unlock()
	runs.kin.enter(r)
}

// dismiss concludes a run that never had a sandbox. Its caller does not wait for a journal in trouble.
func (runs *Runs) dismiss(r *runner, v verdict) { runs.carried.Go(func() { r.conclude(v) }) }

func (runs *Runs) disown(r *Run) {
	runs.mu.Lock()
	delete(runs.owned, r.hash)
	runs.mu.Unlock()
	runs.claims.leave(r)
	runs.kin.leave(r)
	r.stop(nil)
	close(r.over)
}

// Newest is the newest run of a subagent of an outbox, nil where that is over.
func (runs *Runs) Newest(ctx context.Context, outbox string, id delegation.SubagentID) *Run {
	found := runs.Schedule.Find(ctx, schedule.Subject{Outbox: outbox, Subagent: id})
	if found == nil {
		return nil
	}
	return found.Run.(*Run)
}

// Running is the run of a key while it is on its way.
func (runs *Runs) Running(key string) *Run {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	return runs.owned[key]
}
