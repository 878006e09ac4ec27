package watcher

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/schedule"
)

// Config is all that a watcher is given. The outboxes, the journal and the launchers are opened, and closed, by the caller.
type Config struct {
	Outboxes   []Outbox
	Launchers  map[string]sandbox.Launcher // by the name that profiles use
	Journal    *journal.Journal
	Notes      *os.Root                              // a directory of ours for how far the output of running children was taken; nil for none
	Workspaces func(sandbox.Spec) (Workspace, error) // holds the workspace of a run
	Disk       Disk
	Retention  journal.Retention
	MaxRunning int
	Shutdown   Shutdown
	Version    string
	Timing     Timing
	Log        *slog.Logger
}

// Shutdown says what happens to running children when the watcher is told to stop.
type Shutdown struct {
	Keep   bool          // leave them, and what waits, to the next watcher
	Drain  bool          // wait for them, as long as the budget lasts
	Budget time.Duration // after it whatever still runs is killed
}

// Watcher serves outboxes. New builds it, Run runs it once.
type Watcher struct {
	config    Config
	timing    Timing
	journal   *journal.Journal
	notes     notes
	notices   *notices
	boxes     []*outbox
	schedule  *schedule.Schedule
	disks     *disks
	hangs     *hangs // calls to workspaces
	launches  *hangs // calls of launchers, for runs that are not released
	log       *slog.Logger
	born      time.Time
	ready     chan struct{}
	keep      atomic.Bool
	engines   map[string]string // by launcher: the id of its engine, as recovery found it
	left      atomic.Int64      // sandboxes that could not be removed
	numbers   atomic.Int64      // of runs
	aside     map[string]bool   // by key: runs that wait for their outbox's directory; filled before any outbox is served
	deserted  sync.Map          // by key: the ticket of a stranded run whose outbox is not served
	removing  sync.Map          // by key: a channel that is closed when a sandbox that belongs to no run is gone
	leftovers atomic.Int64      // sandboxes that have ended and are removed behind their runs
	looked    chan struct{}     // closed when identify has looked at every outbox, or could not
	again     chan struct{}     // closed when the outboxes are to be opened anew
	reopen    func()
	accepting sync.Mutex // one decision of an operator's at a time

	life       context.Context // done when the watcher stops working, some time after it stopped taking
	endLife    context.CancelFunc
	leisure    context.Context // done when the watcher begins to stop; what can be left undone ends with it
	endLeisure context.CancelFunc
	runs       sync.WaitGroup // one per run that is on its road

	mu    sync.Mutex
	owned map[string]*run // by key: every run from admission to its answer
}

// New prepares everything and touches nothing.
func New(config Config) *Watcher {
	w := &Watcher{
		config: config, timing: config.Timing.usual(), journal: config.Journal, notes: notes{config.Notes}, log: config.Log, born: time.Now(),
		ready: make(chan struct{}), owned: make(map[string]*run), disks: newDisks(config.Disk),
		notices: newNotices(config.Log), hangs: newHangs(workspaceCalls, config.Log), launches: newHangs(config.Timing.usual().launchCalls(), config.Log),
		aside: make(map[string]bool), looked: make(chan struct{}), again: make(chan struct{}),
	}
	w.reopen = sync.OnceFunc(func() { close(w.again) })
	w.life, w.endLife = context.WithCancel(context.Background())
	w.leisure, w.endLeisure = context.WithCancel(w.life)
	w.notices.changed = w.beatNow
	w.schedule = schedule.New(config.MaxRunning, lanesOf(config.Outboxes))
	for _, settings := range config.Outboxes {
		w.boxes = append(w.boxes, w.newOutbox(settings))
	}
	return w
}

func lanesOf(boxes []Outbox) (lanes []schedule.Lane) {
	for _, box := range boxes {
		lanes = append(lanes, schedule.Lane{
			Name: box.Policy.Outbox, MaxRunning: box.MaxRunning, Queue: box.Queue, QueueBusy: box.QueueBusy,
		})
	}
	return lanes
}

func (w *Watcher) newOutbox(settings Outbox) *outbox {
	if len(settings.Policy.Owners) == 0 {
		uid, _ := settings.Dir.Owner()
		settings.Policy.Owners = []uint32{uid} // a parent's own files, where a child must run as their owner
	}
	box := &outbox{settings: settings, name: settings.Policy.Outbox, dir: settings.Dir, w: w, schedule: w.schedule, log: w.log.With("outbox", settings.Policy.Outbox)}
	box.gone, box.files.hold, box.room.hold = w.notices.newHold(box.name), w.notices.newHold(box.name), w.notices.newHold(box.name)
	box.wake, box.owed, box.rest = make(chan struct{}, 1), make(chan string, maxDue), newRest()
	box.board = newBoard(box.publishStatus)
	box.trails = &trails{remove: box.discard}
	return box
}

// Ready is closed when the watcher has recovered and looks at its outboxes.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Run recovers what an earlier watcher left and serves the outboxes until ctx is done; then it answers everybody and
// returns.
//
// ErrLeftBehind says that a call did not return, to a file system for example, and that what waits for it was left. The
// process should end then.
//
// An *OwedError says that answers are owed or sandboxes are left, although the watcher was not told to keep them.
func (w *Watcher) Run(ctx context.Context) (err error) {
	var background sync.WaitGroup
	stopped := false
	defer func() {
		w.endLife()
		all := w.returns(func() { w.runs.Wait(); background.Wait() }) && w.launches.all() == 0
		if !all && !errors.Is(err, ErrLeftBehind) {
			err = errors.Join(err, ErrLeftBehind)
		}
		if stopped && !w.keeps() {
			err = errors.Join(err, w.owed())
		}
	}()
	background.Go(func() { w.schedule.Loop(w.life) })
	background.Go(func() { w.disks.loop(w.life) })
	if err := w.recover(ctx); err != nil {
		if ctx.Err() != nil && !w.keeps() {
			w.answerUntaken(false)
		}
		return err
	}
	writing, endWriting := context.WithCancel(w.life)
	for _, box := range w.boxes {
		background.Go(func() { box.board.loop(writing) })
		heartbeat := w.heartbeatOf(ctx, box)
		box.publishHeartbeat(heartbeat(false)) // who finds the watcher ready finds a served outbox
		background.Go(func() { box.beat(writing, beatEvery, heartbeat) })
	}
	background.Go(func() { w.showPositions(writing) })
	background.Go(func() { w.newPruner().loop(writing) })
	err = w.take(ctx)
	w.stopWorking()
	if !w.keeps() {
		w.answerUntaken(true)
	}
	stopped = true
	endWriting()
	return err
}

// take watches all outboxes until ctx is done or one of them cannot be watched.
func (w *Watcher) take(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var scans sync.WaitGroup
	for _, box := range w.boxes {
		scans.Go(func() {
			if err := box.watch(ctx); err != nil {
				cancel(err)
			}
		})
	}
	close(w.ready)
	<-ctx.Done()
	if !w.returns(scans.Wait) {
		return ErrLeftBehind
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// Hurry kills what still runs; it is for the operator who asks a second time.
func (w *Watcher) Hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.owned {
		r.endNow(delegation.ReasonShutdown)
	}
}

// newRun makes the run of an admitted request.
func (w *Watcher) newRun(box *outbox, key sandbox.RunKey, in intake, spec sandbox.Spec, warnings []string) *run {
	engine := box.engineOf(spec.Profile)
	r := &run{
		key: key, hash: key.Hash(), box: box, file: in.name, spec: spec, warnings: warnings,
		launcher: w.config.Launchers[engine], engine: engine, workspace: workspacePath(spec),
		seen: in.seen, number: w.numbers.Add(1), state: delegation.StateQueued, hurry: make(chan struct{}), over: make(chan struct{}),
		abandoned: make(chan struct{}),
	}
	r.ticket = schedule.Ticket{
		Run: r, Lane: box.name, Subject: schedule.Subject{Outbox: key.Outbox, Subagent: key.Subagent}, Bytes: int64(len(in.data)) * 2,
	}
	r.seenAs.Store(&in.read)
	r.ending, r.stop = context.WithCancelCause(context.Background())
	r.out = &output{live: box.newSegments(key)}
	r.out.live.note = func() {
		crash.At("segment.noted")
		w.notes.save(r.hash, r.out.progress())
	}
	return r
}

// workspacePath is where the workspace is on the host.
func workspacePath(spec sandbox.Spec) string {
	source := spec.WorkspaceMount().Source
	if source.Rel == "." || source.Rel == "" {
		return source.Base
	}
	return source.Base + "/" + source.Rel
}

// beatNow has every outbox's clients told the news.
func (w *Watcher) beatNow() {
	for _, box := range w.boxes {
		select {
		case box.wake <- struct{}{}:
		default:
		}
	}
}

// own makes the watcher responsible for a run until disown.
func (w *Watcher) own(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owned[r.hash] = r
}

// dismiss concludes a run that never had a sandbox. Whoever asks for it is not held up by a journal in trouble.
func (w *Watcher) dismiss(r *run, v verdict) { w.runs.Go(func() { w.conclude(r, v) }) }

func (w *Watcher) disown(r *run) {
	w.mu.Lock()
	delete(w.owned, r.hash)
	w.mu.Unlock()
	r.stop(nil)
	close(r.over)
}
