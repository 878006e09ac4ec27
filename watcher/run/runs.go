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

// Ports connects runs to the host.
type Ports struct {
	Journal    *journal.Journal
	Notes      output.Notes
	Notices    *notice.Board
	Schedule   *schedule.Schedule
	Resources  []Resource                                      // kept by a run beside its sandbox, in the order of acquisition
	Session    func(sandbox.SandboxID, agent.Part)             // saves one part of an agent's session; nil if sessions are not kept
	Launchers  map[string]sandbox.Launcher                     // by their names in profiles
	Prepared   map[string]Prepared                             // by the same names, for launchers with sandboxes made ahead of runs
	Workspaces func(sandbox.Spec) (workspace.Directory, error) // opens the workspace of a run and holds it
	Hangs      *hang.Calls                                     // counts the calls to workspaces that hang
	Kept       Kept                                            // looks after workspaces after their runs; nil if nothing does
	Floor      workspace.Floor
	Timing     Timing
	Clock      boot.Clock // measures the time of runs; zero means boot.Machine
	Log        *slog.Logger

	Life    context.Context // done when the watcher stops working, some time after it stopped taking requests
	Serving context.Context // done when the watcher begins to stop; work that can be left undone ends then
	Keeps   func() bool     // whether running sandboxes are left to the next watcher
}

// Reads returns the places on the host that unfinished runs may read, except workspaces and the operator's programs.
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

// Disk returns how many bytes the workspace of an unfinished run held when it was last measured, or 0 if it was not
// measured.
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

// Kept looks after workspaces when their runs are over.
type Kept interface {
	Begin(ctx context.Context, outbox string, id delegation.SubagentID, held tree.ID, made bool) // called before anything runs there
	End(ctx context.Context, outbox string, id delegation.SubagentID, bytes int64)               // bytes is 0 if it is not known
	// Copy makes the workspace of a subagent as the copy that spec asks for, unless it exists already. It returns
	// warnings for the parent. If there can be no copy, the error is a *delegation.Refusal that says why.
	Copy(ctx context.Context, outbox string, id delegation.SubagentID, spec sandbox.Spec, room func(tree.Space) error) (warnings []string, err error)
}

// Runs carries runs from their admission to their answer. It owns the list of unfinished runs; its parts own the rest
// of the shared state.
type Runs struct {
	Ports
	Removals *Removals
	calls    *calls
	claims   *claims
	families *families
	disks    *workspace.Disks

	numbers atomic.Int64   // number of the latest run
	carried sync.WaitGroup // counts the goroutines that work for runs

	mu    sync.Mutex
	owned map[string]*Run // by key: every run from admission to its answer
}

// NewRuns returns Runs without any run yet.
func NewRuns(p Ports) *Runs {
	if p.Clock.Now == nil {
		p.Clock = boot.Machine
	}
	if len(p.Prepared) > 0 {
		p.Resources = append(slices.Clone(p.Resources), claimed(p.Prepared))
	}
	c := newCalls(p)
	return &Runs{
		Ports: p, Removals: newRemovals(p, c), calls: c, claims: newClaims(), families: newFamilies(), disks: workspace.NewDisks(p.Floor), owned: make(map[string]*Run),
	}
}

// Loop watches the disks, and ends the children of runs that end, until ctx is done.
func (runs *Runs) Loop(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { runs.disks.Loop(ctx) })
	both.Go(func() { runs.endOrphans(ctx) })
	both.Wait()
}

// Wait waits until no run is on its way and nothing is being removed.
func (runs *Runs) Wait() {
	runs.carried.Wait()
	runs.Removals.work.Wait() // a run may have left its sandbox to Removals
}

// Hung returns how many launcher calls were left behind and have not returned yet.
func (runs *Runs) Hung() int { return runs.calls.launches.Left() }

// KillAll asks every unfinished run to end now, for a shutdown.
func (runs *Runs) KillAll() {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	for _, r := range runs.owned {
		r.EndNow(delegation.ReasonShutdown)
	}
}

// Submit puts a request that is in the journal on its way. existing is the record of an earlier watcher that began with
// the request but launched nothing; otherwise it is nil. Submit returns false if the run is refused; the refusal is
// then the answer.
func (runs *Runs) Submit(ctx context.Context, q Request, c Client, existing *journal.Run) bool {
	r := runs.newRun(q, q.Spec, c)
	if existing != nil {
		r.ticket.Admitted = true
		r.sandbox = existing.Sandbox
		if existing.State != delegation.StateQueued {
			r.standing.now.Phase = Bound // it was not released, or has lost its sandbox
		}
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

// lookAbove finds out which directory a run will work in, and which directories lie above it. If the directory does not
// exist yet, or its file system does not answer, lookAbove does nothing: every run is looked at again just before it
// starts.
func (r *Run) lookAbove() {
	ctx, cancel := context.WithTimeout(r.runs.Life, workspace.HangTime) // the outbox waits meanwhile
	defer cancel()
	held, err := workspace.Open(ctx, r.runs.Hangs, r.runs.Workspaces, r.spec)
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
	runs.families.enter(r)
}

// dismiss concludes an attempt that never had a sandbox. It works in the background, because its caller must not wait for
// a journal in trouble, nor for a resource that knows what an earlier attempt has used.
func (runs *Runs) dismiss(r *runner, v verdict) {
	runs.carried.Go(func() {
		r.endResources(&v)
		r.conclude(v)
	})
}

func (runs *Runs) disown(r *Run) {
	runs.mu.Lock()
	delete(runs.owned, r.hash)
	runs.mu.Unlock()
	runs.claims.leave(r)
	runs.families.leave(r)
	r.stop(nil)
	close(r.over)
}

// Newest returns the newest run of a subagent in an outbox, or nil if there is no unfinished run.
func (runs *Runs) Newest(ctx context.Context, outbox string, id delegation.SubagentID) *Run {
	found := runs.Schedule.Find(ctx, schedule.Subject{Outbox: outbox, Subagent: id})
	if found == nil {
		return nil
	}
	return found.Run.(*Run)
}

// Running returns the run with this key while it is on its way, and nil otherwise.
func (runs *Runs) Running(key string) *Run {
	runs.mu.Lock()
	defer runs.mu.Unlock()
	return runs.owned[key]
}
