package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/control"
	"torno/internal/events"
	gatewaycontrol "torno/internal/gateway/control"
	"torno/internal/journal"
	"torno/internal/launcher"
	"torno/internal/metrics"
	"torno/internal/mounts"
	"torno/internal/programs"
	"torno/internal/version"
	"torno/watcher"
	"torno/watcher/collect"
	"torno/watcher/door"
	"torno/watcher/hang"
	"torno/watcher/outbox"
	"torno/watcher/session"
	"torno/watcher/workspace"
)

// Options are the parts of a host.
type Options struct {
	Config configs.Config
	// MakeOutbox makes missing outboxes, and missing allowed roots in them. A trial on a workstation needs that.
	MakeOutbox bool
	// Quick marks the watcher of `run --dir`, which somebody starts and ends by hand. The model gateway ends with it
	// once no child needs the gateway. If the directory of an outbox is made anew, the outbox goes on in the new
	// directory.
	Quick bool
	// WithState is called once the state directory is this watcher's alone, before anything in it is used. It may be
	// nil.
	WithState func() error
	// Wait makes the watcher wait for an outbox of MakeOutbox that another watcher serves. Without Wait the watcher
	// names the other one and ends. It always waits for the outboxes of a configuration.
	Wait      bool
	Log       *slog.Logger
	Signals   <-chan os.Signal // INT, TERM and HUP of this process; nil for none
	Launchers launcher.List
	// Reload reads the configuration again, for HUP. It is nil if there is no file; then HUP ends the watcher as TERM
	// does.
	Reload func() (configs.Config, *slog.Logger, error)
	Timing Timing

	opened  *paced      // when everything was last opened anew; one for all hosts of a process
	hangs   *hang.Calls // the looks at outboxes that hang; one for all hosts, too
	handed  *handover   // the locks that one host leaves to the next
	reloads *reloads    // the reloads that were asked for, and their results; one for all hosts, too
}

// JournalName is the journal's name in a state directory.
const JournalName = "journal.db"

// host is a watcher with everything around it. The steps fill its fields, in the order of the steps.
type host struct {
	Options
	decided   configs.Config // Config, with a launcher for each profile that leaves the choice to us
	notify    notifier
	init      string
	closed    closedOutboxes
	first     bool              // nothing was ever served from this state directory
	canReopen chan struct{}     // closed when a closed outbox can be opened
	dirs      []*delegation.Dir // of the outboxes; a stand-in for a closed outbox
	locks     []*outboxLock     // of each outbox
	state     *stateLock
	journal   *journal.Journal
	calendar  *calendar.Calendar
	notes     *os.Root
	sessions  *session.Store
	events    *events.Store
	bases     *mounts.Bases
	launchers map[string]launcher.Launcher
	exchanged chan struct{}          // a launcher has met another site than its own
	gateway   *gatewaycontrol.Client // nil if there are no routes
	doors     *door.Doors            // the same
	pools     *pools
	watcher   *watcher.Watcher
	operator  *watcher.Operator
	metrics   *metrics.Metrics
	door      net.Listener

	last bool           // no other host follows
	undo []func() error // undoes each step that was done, in the order of the steps
}

// Run serves the outboxes of a configuration until a signal or ctx ends it. HUP makes it read the configuration again,
// if there is a file.
func Run(ctx context.Context, o Options) (err error) {
	o.opened, o.handed, o.hangs = &paced{}, &handover{}, hang.New(outboxCalls, o.Log)
	defer func() { err = errors.Join(err, o.handed.drop()) }()
	asked, quit := listen(ctx, o.Signals, o.Reload != nil)
	defer quit()
	o.reloads = &reloads{ask: asked.askReload}
	h, err := open(asked.stopping, o)
	if h == nil && err == nil {
		err = o.handed.drop() // owed takes the lock of the state directory itself
		return errors.Join(err, owed(o.Config))
	}
	for h != nil && err == nil {
		var next *Options
		next, err = h.serve(asked)
		if next != nil {
			h.handed.takeFrom(h)
		}
		h.last = next == nil
		err = errors.Join(err, h.close())
		if next == nil || err != nil {
			return err
		}
		h, err = h.replace(context.WithoutCancel(ctx), asked, *next)
	}
	return err
}

// open does all steps up to serving. If it is told to stop before serving begins, the returned host is nil. The locks
// that it has taken stay locked, for the next host or for Run, which unlocks them.
func open(ctx context.Context, o Options) (h *host, err error) {
	h = &host{Options: o, notify: notifierOf(os.Getenv), closed: closedOutboxes{}, canReopen: make(chan struct{})}
	for _, step := range []func(context.Context) error{
		h.findInit, h.reachLaunchers, h.makeOutboxes, h.lookAround, h.makeState, h.openOutboxes, h.lock, h.openJournal, h.openCalendar, h.openNotes, h.openSessions, h.openEvents, h.openRoots, h.openLaunchers,
		h.demand, h.lookForImages, h.openGateway, h.makeWatcher, h.makeMetrics, h.openDoor, h.tendGateway,
	} {
		err := step(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil
		}
		h.handed.takeFrom(h)
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// later notes a function that close calls to undo a step.
func (h *host) later(undo func() error) { h.undo = append(h.undo, undo) }

func (h *host) close() error {
	var errs []error
	for _, undo := range slices.Backward(h.undo) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// findInit finds the program that is process 1 of every sandbox.
func findInit(c configs.Config) (string, error) { return programs.Find("sandbox-init", c.Init) }

func (h *host) findInit(context.Context) (err error) {
	h.init, err = findInit(h.Config)
	return err
}

func (h *host) reachLaunchers(ctx context.Context) error { return reach(ctx, h.Launchers, h.Config) }

// lock keeps other watchers out: from the state directory entirely, and from each outbox as soon as it is free.
func (h *host) lock(ctx context.Context) error {
	who := fmt.Sprintf("watcher %s, process %d, since %s, with the state %s", version.String(), os.Getpid(),
		time.Now().Format(time.DateTime), h.Config.State)
	if err := h.checkIsFree(ctx, who); err != nil {
		return err
	}
	if err := h.lockState(ctx, who); err != nil {
		return err
	}
	if h.WithState != nil {
		if err := h.WithState(); err != nil {
			return err
		}
	}
	stale, err := filepath.Glob(filepath.Join(h.Config.State, delegation.NowherePrefix+"*"))
	for _, dir := range stale { // left by a watcher that was killed
		err = errors.Join(err, os.Remove(dir))
	}
	if err != nil {
		return err
	}
	for _, dir := range h.dirs {
		if err := h.lockOutbox(dir, who); err != nil {
			return err
		}
	}
	return h.handed.drop()
}

func (h *host) openJournal(ctx context.Context) (err error) {
	if h.journal, err = journal.Open(ctx, filepath.Join(h.Config.State, JournalName)); err == nil {
		h.later(h.journal.Close)
	}
	return err
}

// notesName is the name of a directory in the state directory. Its files note how far the output of running children
// was taken.
const notesName = "runs"

func (h *host) openNotes(context.Context) (err error) {
	dir := filepath.Join(h.Config.State, notesName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory for running children: %w", err)
	}
	if h.notes, err = os.OpenRoot(dir); err == nil {
		h.later(h.notes.Close)
	}
	return err
}

// openCalendar makes ages go by a clock that can be believed.
func (h *host) openCalendar(context.Context) error {
	h.calendar = calendar.Open(h.Config.State, h.Log)
	h.journal.GoBy(h.calendar.Now)
	return nil
}

func (h *host) openSessions(context.Context) (err error) {
	bounds := session.Usual
	bounds.Age = h.Config.Retention.Age
	if h.sessions, err = session.Open(h.Config.State, bounds, h.calendar.Now, h.Log); err == nil {
		h.later(h.sessions.Close)
	}
	return err
}

func (h *host) openEvents(context.Context) (err error) {
	bounds := events.Usual
	bounds.Age = h.Config.Retention.Age
	if h.events, err = events.Open(h.Config.State, bounds, h.calendar.Now, h.Log); err == nil {
		h.later(h.events.Close)
	}
	return err
}

// openLaunchers opens the launchers of the profiles, and the launchers that still have runs of an earlier watcher.
func (h *host) openLaunchers(ctx context.Context) (err error) {
	handles, err := handlesOf(ctx, h.journal)
	if err != nil {
		return err
	}
	o := newOpener(h.Launchers, setting{
		config: h.Config, installation: h.journal.Installation(), stateDir: h.Config.State, init: h.init, bases: h.bases,
		handles: handles, log: h.Log,
	})
	h.launchers = o.launched
	h.later(o.close)
	if h.decided, err = o.decide(ctx, h.Config); err != nil {
		return err
	}
	return h.openUnfinished(ctx, o)
}

func (h *host) makeWatcher(context.Context) error {
	h.exchanged = make(chan struct{}, 1)
	launchers := asLaunchers(h.launchers, h.exchanged)
	h.pools = openPools(h.Config, h.launchers, launchers, h)
	h.later(h.pools.close)
	kept := h.Config.Retention.Workspaces
	config := watcher.Config{
		Outboxes: h.outboxes(), Launchers: launchers, Journal: h.journal, Notes: h.notes, MaxRunning: h.Config.MaxRunning,
		Workspaces: h.openWorkspace, Floor: workspace.Floor{Bytes: h.Config.Disk.Floor, Files: h.Config.Disk.FloorFiles}, Retention: h.retention(), Collect: collect.Rule{Which: collect.Which(kept.Remove), Age: kept.Age, Number: kept.Number, Bytes: kept.Size},
		Shutdown: watcher.Shutdown{
			Keep: h.Config.Shutdown.Running == configs.Keep, Drain: h.Config.Shutdown.Running == configs.Drain, Budget: h.Config.Shutdown.Budget,
		},
		Sessions: h.sessions, Events: h.events, Version: version.String(), Now: h.calendar.Now, Log: h.Log,
	}
	h.connect(&config)
	h.pools.join(&config)
	h.watcher = watcher.New(config)
	return nil
}

func (h *host) retention() journal.Retention {
	r := h.Config.Retention
	return journal.Retention{Age: r.Age, Runs: r.Runs, Size: r.Size, MaxRequestAge: r.MaxRequestAge}
}

func (h *host) outboxes() []outbox.Settings {
	var all []outbox.Settings
	for i, policy := range h.decided.Policies() {
		o := h.Config.Outboxes[i]
		all = append(all, outbox.Settings{
			Dir: h.dirs[i], Policy: policy, MaxRunning: o.MaxRunning, Queue: o.Queue, QueueBusy: o.Busy == configs.BusyQueue,
			MaxRequestBytes: o.MaxRequestBytes, Tree: outbox.Tree(o.Tree), Lock: h.locks[i].lock,
			Remade: h.Quick,
		})
	}
	return all
}

func (h *host) openDoor(context.Context) (err error) {
	h.door, err = control.Listen(h.Config.State)
	return err
}
