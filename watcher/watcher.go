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
	"torno/internal/agent"
	"torno/internal/boot"
	"torno/internal/control"
	"torno/internal/events"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/collect"
	"torno/watcher/hang"
	"torno/watcher/notice"
	"torno/watcher/outbox"
	"torno/watcher/output"
	"torno/watcher/run"
	"torno/watcher/schedule"
	"torno/watcher/session"
	"torno/watcher/workspace"
)

// Config is everything that a watcher is given. The caller opens and closes the outboxes, the journal and the
// launchers.
type Config struct {
	Outboxes  []outbox.Settings
	Launchers map[string]sandbox.Launcher // by the name that profiles use
	Journal   *journal.Journal
	// Notes is our directory that records how far the output of running children was taken; nil for none.
	Notes      *os.Root
	Workspaces func(sandbox.Spec) (workspace.Directory, error) // opens the workspace of a run
	Floor      workspace.Floor                                 // the space that must stay free where runs work
	Retention  journal.Retention
	MaxRunning int
	Shutdown   Shutdown
	Resources  []run.Resource          // a run's resources beside its sandbox and its session
	Sessions   *session.Store          // nil if no sessions are kept
	Events     *events.Store           // the events of runs, for operators; nil if none are kept
	Collect    collect.Rule            // decides which workspaces are removed
	Prepared   map[string]run.Prepared // by launcher: sandboxes that were made before a run needs them
	Pools      func() []control.Pool   // the state of the pools, for operators; nil if it is not wanted
	// Spending returns the model spending so far, by sandbox; nil if no run has a model.
	Spending func(context.Context) (map[sandbox.SandboxID]*delegation.ModelUsage, error)
	Budgets  Budgets // budgets of the model gateway; nil without a gateway
	Version  string
	Timing   run.Timing
	Clock    boot.Clock // measures the time of runs; zero means boot.Machine
	// Now returns the time of day that is believed (package calendar). The age of everything that is kept goes by it,
	// in the journal too; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Shutdown tells what happens to running children when the watcher is told to stop.
type Shutdown struct {
	Keep   bool          // leave running and waiting runs to the next watcher
	Drain  bool          // wait for running children until the budget is used up
	Budget time.Duration // after it, everything that still runs is killed
}

// Watcher serves outboxes. New builds it; Run may be called once.
type Watcher struct {
	config    Config
	timing    run.Timing
	journal   *journal.Journal
	notices   *notice.Board
	notes     output.Notes
	schedule  *schedule.Schedule
	hangs     *hang.Calls // calls to workspaces that may hang
	runs      *run.Runs
	kept      *collect.Collector // collects old workspaces
	log       *slog.Logger
	boxes     []*outbox.Outbox
	born      time.Time
	ready     chan struct{}
	keep      atomic.Bool
	unserved  *unservedRuns // unfinished or unanswered runs whose outbox is not served
	looked    chan struct{} // closed when Identify has looked at every outbox, or has failed
	again     chan struct{} // closed when the outboxes should be opened anew
	reopen    func()
	accepting sync.Mutex // lets operators decide one at a time

	life       context.Context // done when the watcher stops working, some time after it stopped taking requests
	endLife    context.CancelFunc
	serving    context.Context // done when the watcher begins to stop; ends the work that can be left undone
	endServing context.CancelFunc
}

// New builds a watcher and touches nothing outside it.
func New(config Config) *Watcher {
	if config.Now == nil {
		config.Now = time.Now
	}
	w := &Watcher{
		config: config, timing: config.Timing.Usual(), journal: config.Journal, notices: notice.New(config.Log), notes: output.NewNotes(config.Notes),
		schedule: schedule.New(config.MaxRunning, lanesOf(config.Outboxes)), hangs: hang.New(workspace.Calls, config.Log), log: config.Log, born: time.Now(), ready: make(chan struct{}),
		looked: make(chan struct{}), again: make(chan struct{}),
	}
	w.reopen = sync.OnceFunc(func() { close(w.again) })
	w.life, w.endLife = context.WithCancel(context.Background())
	w.serving, w.endServing = context.WithCancel(w.life)
	w.kept = w.newCollector()
	w.runs = run.NewRuns(run.Ports{
		Journal: w.journal, Notes: w.notes, Notices: w.notices, Schedule: w.schedule, Resources: config.resources(), Session: config.takeSession(), Launchers: config.Launchers, Prepared: config.Prepared,
		Workspaces: config.Workspaces, Hangs: w.hangs, Kept: w.kept, Floor: config.Floor, Timing: w.timing,
		Clock: config.Clock, Log: w.log, Life: w.life, Serving: w.serving, Keeps: w.keeps,
	})
	w.unserved = &unservedRuns{
		journal: w.journal, runs: w.runs, schedule: w.schedule, launchers: config.Launchers, reopen: w.reopen, log: w.log, life: w.life,
	}
	w.notices.Changed = w.beatNow
	shared := &outbox.Host{
		Journal: w.journal, Notices: w.notices, Runs: w.runs, Life: w.life, Born: w.born, MaxRequestAge: config.Retention.MaxRequestAge, Events: config.Events, Reopen: w.reopen, Log: w.log,
	}
	if config.Sessions != nil {
		shared.Session = config.Sessions.Refuse
	}
	for _, settings := range config.Outboxes {
		w.boxes = append(w.boxes, shared.NewOutbox(settings))
	}
	return w
}

// resources returns a run's resources beside its sandbox. The session comes first: if it is gone, no gateway needs to
// be asked.
func (c *Config) resources() []run.Resource {
	if c.Sessions == nil {
		return c.Resources
	}
	return append([]run.Resource{c.Sessions}, c.Resources...)
}

func (c *Config) takeSession() func(sandbox.SandboxID, agent.Part) {
	if c.Sessions == nil {
		return nil
	}
	return c.Sessions.Take
}

func lanesOf(boxes []outbox.Settings) (lanes []schedule.Lane) {
	for _, box := range boxes {
		lanes = append(lanes, schedule.Lane{
			Name: box.Policy.Outbox, MaxRunning: box.MaxRunning, Queue: box.Queue, QueueBusy: box.QueueBusy,
		})
	}
	return lanes
}

// Ready returns a channel that is closed when the watcher has recovered and looks at its outboxes.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Run takes over from an earlier watcher and serves the outboxes until ctx is done. Then it responds to every request
// that it has and returns.
//
// Run returns ErrLeftBehind if a call did not return, to a file system for example, and goroutines still wait for it.
// The process should end then.
//
// Run returns an *OwedError if it owes responses or leaves sandboxes although it was not told to keep them.
func (w *Watcher) Run(ctx context.Context) (err error) {
	var background sync.WaitGroup
	stopped := false
	defer func() {
		w.endLife()
		all := w.endsInTime(func() { w.runs.Wait(); background.Wait() }) && w.runs.Hung() == 0
		if !all && !errors.Is(err, ErrLeftBehind) {
			err = errors.Join(err, ErrLeftBehind)
		}
		if stopped && !w.keeps() {
			err = errors.Join(err, w.owed())
		}
	}()
	background.Go(func() { w.schedule.Loop(w.life) })
	background.Go(func() { w.runs.Loop(w.life) })
	if err := w.takeOver(ctx); err != nil {
		switch {
		case ctx.Err() != nil && w.keep.Load():
			w.log.Info("leaving the runs and sandboxes of an earlier watcher to the next one", "because", err)
			return nil
		case ctx.Err() != nil && !w.keeps():
			w.respondToUntaken(false)
		}
		return err
	}
	writing, endWriting := context.WithCancel(w.life)
	for _, box := range w.boxes {
		background.Go(func() { box.ShowStatuses(writing) })
		heartbeat := w.heartbeatOf(ctx, box)
		box.PublishHeartbeat(heartbeat(false)) // a client that finds the watcher ready must find a served outbox
		background.Go(func() { box.Beat(writing, beatEvery, heartbeat) })
	}
	background.Go(func() { w.showPositions(writing) })
	background.Go(func() { w.newPruner().loop(writing) })
	background.Go(func() { w.kept.Loop(writing) })
	if w.config.Sessions != nil {
		background.Go(func() { w.config.Sessions.Loop(writing) })
	}
	if w.config.Events != nil {
		background.Go(func() { w.config.Events.Loop(writing) })
	}
	background.Go(func() { w.unserved.awaitSites(w.serving) })
	err = w.watchOutboxes(ctx)
	w.stopWorking()
	if !w.keeps() {
		w.respondToUntaken(true)
	}
	stopped = true
	endWriting()
	return err
}

// watchOutboxes watches all outboxes until ctx is done. No fault of an outbox ends it, because a parent could cause that.
func (w *Watcher) watchOutboxes(ctx context.Context) error {
	var scans sync.WaitGroup
	for _, box := range w.boxes {
		scans.Go(func() { box.Watch(ctx) })
	}
	close(w.ready)
	<-ctx.Done()
	if !w.endsInTime(scans.Wait) {
		return ErrLeftBehind
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// Hurry kills everything that still runs. It is called when the operator asks a second time.
func (w *Watcher) Hurry() { w.runs.KillAll() }

// beatNow has every outbox send a heartbeat soon, so that its clients learn the news.
func (w *Watcher) beatNow() {
	for _, box := range w.boxes {
		box.TellSoon()
	}
}

// ReloadWaits tells clients and operators that a new configuration is waiting, until over is called.
func (w *Watcher) ReloadWaits(why error) (over func()) {
	held := w.notices.Flag("")
	held.Raise(delegation.NoticeReload, why)
	return held.Close
}

// GatewayAway tells clients and operators that the model gateway is not available, until over is called.
func (w *Watcher) GatewayAway(why error) (over func()) {
	held := w.notices.Flag("")
	held.Raise(delegation.NoticeGateway, why)
	return held.Close
}

// RouteFails tells clients that a route of the model gateway does not work, until over is called.
func (w *Watcher) RouteFails() (over func()) {
	held := w.notices.Flag("")
	held.Raise(delegation.NoticeRoute, nil)
	return held.Close
}

// Unserved names the outboxes that wait for their own directory or for an operator. The list is final once the watcher
// is ready.
func (w *Watcher) Unserved() (names []string) {
	for _, box := range w.boxes {
		if !box.InOwnDirectory() {
			names = append(names, box.Name)
		}
	}
	return names
}

// awaitLook waits until the watcher has looked at all outboxes, because an operator may ask earlier.
func (w *Watcher) awaitLook(ctx context.Context) error {
	select {
	case <-w.looked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reopen returns a channel that is closed when another watcher should open the outboxes anew: a directory was missing
// and may be back. This watcher serves on until it is told to stop.
func (w *Watcher) Reopen() <-chan struct{} { return w.again }
