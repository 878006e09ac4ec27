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

// Config is all that a watcher is given. The outboxes, the journal and the launchers are opened, and closed, by the caller.
type Config struct {
	Outboxes   []outbox.Settings
	Launchers  map[string]sandbox.Launcher // by the name that profiles use
	Journal    *journal.Journal
	Notes      *os.Root                                        // a directory of ours for how far the output of running children was taken; nil for none
	Workspaces func(sandbox.Spec) (workspace.Directory, error) // holds the workspace of a run
	Floor      workspace.Floor                                 // of what stays free where runs work
	Retention  journal.Retention
	MaxRunning int
	Shutdown   Shutdown
	Resources  []run.Resource          // what runs have beside their sandboxes, but for their sessions
	Sessions   *session.Store          // nil where none is kept
	Events     *events.Store           // of runs, for operators; nil where none are kept
	Collect    collect.Rule            // which workspaces are removed
	Prepared   map[string]run.Prepared // by launcher: its sandboxes that were made ahead of runs
	Pools      func() []control.Pool   // how they stand, for operators; nil where nobody asks
	// Spending is what each sandbox's run has spent on its model so far; nil where none has a model.
	Spending func(context.Context) (map[sandbox.SandboxID]*delegation.ModelUsage, error)
	Budgets  Budgets // of the model gateway; nil where there is none
	Version  string
	Timing   run.Timing
	Clock    boot.Clock // by which the time of runs passes; zero means boot.Machine
	// Now tells the time of day that is believed (package calendar), by which what is kept has an age; nil means time.Now. The journal goes by it, too.
	Now func() time.Time
	Log *slog.Logger
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
	timing    run.Timing
	journal   *journal.Journal
	notices   *notice.Board
	notes     output.Notes
	schedule  *schedule.Schedule
	hangs     *hang.Calls // to workspaces
	runs      *run.Runs
	kept      *collect.Collector // of workspaces
	log       *slog.Logger
	boxes     []*outbox.Outbox
	born      time.Time
	ready     chan struct{}
	keep      atomic.Bool
	unserved  *unservedRuns // runs that have not ended, or are not answered, and whose outbox is not served
	looked    chan struct{} // closed when identify has looked at every outbox, or could not
	again     chan struct{} // closed when the outboxes are to be opened anew
	reopen    func()
	accepting sync.Mutex // one decision of an operator's at a time

	life       context.Context // done when the watcher stops working, some time after it stopped taking
	endLife    context.CancelFunc
	leisure    context.Context // done when the watcher begins to stop; what can be left undone ends with it
	endLeisure context.CancelFunc
}

// New prepares everything and touches nothing.
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
	w.leisure, w.endLeisure = context.WithCancel(w.life)
	w.kept = w.newCollector()
	w.runs = run.NewRuns(run.Ports{
		Journal: w.journal, Notes: w.notes, Notices: w.notices, Schedule: w.schedule, Resources: config.resources(), Session: config.takeSession(), Launchers: config.Launchers, Prepared: config.Prepared,
		Workspaces: config.Workspaces, Hangs: w.hangs, Kept: w.kept, Floor: config.Floor, Timing: w.timing,
		Clock: config.Clock, Log: w.log, Life: w.life, Leisure: w.leisure, Keeps: w.keeps,
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

// resources are what runs have beside their sandboxes. A session is acquired first: where it is gone, no gateway is asked.
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

// Ready is closed when the watcher has recovered and looks at its outboxes.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Run takes over from an earlier watcher and serves the outboxes until ctx is done. Then it responds to every request that it
// has and returns.
//
// ErrLeftBehind says that a call did not return, to a file system for example, and that the goroutines that wait for it were
// left behind. The process should end then.
//
// An *OwedError says that responses are owed or sandboxes are left, although the watcher was not told to keep them.
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
			w.log.Info("what an earlier watcher left is left to the next one", "because", err)
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
	background.Go(func() { w.unserved.awaitSites(w.leisure) })
	err = w.watchOutboxes(ctx)
	w.stopWorking()
	if !w.keeps() {
		w.respondToUntaken(true)
	}
	stopped = true
	endWriting()
	return err
}

// watchOutboxes watches all outboxes until ctx is done or one of them cannot be watched.
func (w *Watcher) watchOutboxes(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var scans sync.WaitGroup
	for _, box := range w.boxes {
		scans.Go(func() {
			if err := box.Watch(ctx); err != nil {
				cancel(err)
			}
		})
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

// Hurry kills what still runs, when the operator asks a second time.
func (w *Watcher) Hurry() { w.runs.KillAll() }

// beatNow has every outbox's clients told the news.
func (w *Watcher) beatNow() {
	for _, box := range w.boxes {
		box.TellSoon()
	}
}

// ReloadWaits tells clients and operators that a new configuration waits, until over is called.
func (w *Watcher) ReloadWaits(why error) (over func()) {
	held := w.notices.Flag("")
	held.Raise(delegation.NoticeReload, why)
	return held.Close
}

// GatewayAway tells clients and operators that the model gateway cannot be had, until over is called.
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

// Unserved names the outboxes that wait for their own directory or an operator. It is known once the watcher is ready.
func (w *Watcher) Unserved() (names []string) {
	for _, box := range w.boxes {
		if !box.InOwnDirectory() {
			names = append(names, box.Name)
		}
	}
	return names
}

// awaitLook waits until it is known which outboxes there are: operators may ask before.
func (w *Watcher) awaitLook(ctx context.Context) error {
	select {
	case <-w.looked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reopen is closed when the outboxes are to be opened anew by another watcher: the directory of one of them was not there and
// may be now. This watcher serves on until it is told to stop.
func (w *Watcher) Reopen() <-chan struct{} { return w.again }
