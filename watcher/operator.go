package watcher

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/crash"
	"torno/internal/events"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/outbox"
	"torno/watcher/run"
)

// Operator serves the requests of the control socket. Without a running watcher it can still show the journal.
type Operator struct {
	Journal *journal.Journal
	Watcher *Watcher      // nil if no watcher runs here
	History *events.Store // the events of runs; nil if none are kept
	Reloads Reloads       // nil if there is no configuration to read again
}

// Reloads reads the configuration again for an operator.
type Reloads interface {
	Ask() control.Reload
	Result(number int) control.Reload
}

// Reload implements control.Service.
func (o *Operator) Reload(context.Context) (control.Reload, error) {
	if o.Watcher == nil {
		return control.Reload{}, control.ErrNoWatcher
	}
	if o.Reloads == nil {
		return control.Reload{}, control.ErrNoReload
	}
	return o.Reloads.Ask(), nil
}

// Reloaded implements control.Service.
func (o *Operator) Reloaded(_ context.Context, number int) (control.Reload, error) {
	if o.Reloads == nil {
		return control.Reload{}, control.ErrNoReload
	}
	return o.Reloads.Result(number), nil
}

var _ control.Service = (*Operator)(nil)

// minRef is the shortest abbreviation of a key that an operator may use.
const minRef = 4

// Status describes the watcher, its outboxes and its launchers.
func (o *Operator) Status(ctx context.Context) (control.Status, error) {
	w := o.Watcher
	if w == nil {
		return control.Status{}, control.ErrNoWatcher
	}
	if err := w.awaitLook(ctx); err != nil {
		return control.Status{}, err
	}
	s := control.Status{Version: w.config.Version, Installation: o.Journal.Installation(), PID: os.Getpid(), StartedAt: w.born, MaxRunning: w.config.MaxRunning}
	for _, box := range w.boxes {
		status := control.OutboxStatus{Name: box.Name, ID: box.ID, Dir: box.Dir.Path(), MaxRunning: box.Settings.MaxRunning, MaxQueued: box.Settings.Queue}
		status.Running, status.Queued = w.schedule.Load(ctx, box.Name)
		status.Notices = w.notices.Of(box.Name)
		if err := box.Trouble(); err != nil {
			status.Trouble = err.Error()
		}
		s.Outboxes = append(s.Outboxes, status)
	}
	for name, launcher := range w.config.Launchers {
		s.Launchers = append(s.Launchers, askLauncher(ctx, name, launcher))
	}
	s.Profiles = w.profiles()
	if w.config.Pools != nil {
		s.Pools = w.config.Pools()
	}
	return s, nil
}

// profiles returns the profiles on offer, each once.
func (w *Watcher) profiles() (all []control.Profile) {
	for _, box := range w.boxes {
		for _, p := range box.Settings.Policy.Profiles {
			offered := control.Profile{Name: p.Name, Launcher: p.Sandbox, Chosen: p.Chosen}
			if !slices.Contains(all, offered) {
				all = append(all, offered)
			}
		}
	}
	return all
}

// checkBudget bounds how long an operator waits for a launcher.
const checkBudget = 2 * time.Second

// askLauncher asks a launcher what it enforces. If the launcher does not answer, the error becomes its Trouble.
func askLauncher(ctx context.Context, name string, launcher sandbox.Launcher) control.Launcher {
	ctx, cancel := context.WithTimeout(ctx, checkBudget)
	defer cancel()
	guarantees, err := launcher.Check(ctx)
	if err != nil {
		return control.Launcher{Name: name, Trouble: err.Error()}
	}
	return control.Launcher{Name: name, Guarantees: guarantees}
}

// Runs lists runs, newest first.
func (o *Operator) Runs(ctx context.Context, q control.Query) ([]control.Run, error) {
	known, err := o.Journal.Outboxes(ctx)
	if err != nil {
		return nil, err
	}
	records, err := o.Journal.List(ctx, journal.Query{Outbox: idOf(known, q.Outbox), ActiveOnly: !q.All, Limit: q.Limit})
	runs := make([]control.Run, 0, len(records))
	for _, record := range records {
		run := o.show(record, known)
		run.StdoutTail, run.StderrTail = "", "" // a list of thousands would take megabytes
		runs = append(runs, run)
	}
	o.addSpending(ctx, runs)
	return runs, err
}

// Run shows the run that ref names.
func (o *Operator) Run(ctx context.Context, ref string) (control.Run, error) {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return control.Run{}, err
	}
	known, err := o.Journal.Outboxes(ctx)
	runs := []control.Run{o.show(record, known)}
	if err != nil {
		return control.Run{}, err
	}
	o.addSpending(ctx, runs)
	asked, err := o.Journal.Approvals(ctx, record.Key)
	for _, a := range asked {
		runs[0].Questions = append(runs[0].Questions, control.AskedFromJournal(a, record.Released))
	}
	return runs[0], err
}

// show describes a run as the journal and, if there is one, the running watcher know it.
func (o *Operator) show(record journal.Run, known []journal.Outbox) control.Run {
	run := control.FromJournal(record, nameOf(known, record.Outbox))
	if o.Watcher != nil {
		now := o.Watcher.standing(record.Key)
		run.Stranded, run.Position = now.Stranded, now.Position
		run.Unserved = o.Watcher.unserved.why(record.Key)
		if bytes := o.Watcher.runs.Disk(record.Key); bytes > 0 && run.Usage == nil {
			run.Usage = &delegation.Usage{WorkspaceBytes: bytes}
		}
	}
	return run
}

// idOf returns the id of the outbox that now has the name text. If none has it, idOf takes text for an id. An outbox
// whose name now belongs to another outbox can be named by its id only.
func idOf(known []journal.Outbox, text string) string {
	for _, o := range known {
		if o.Named && o.Name == text {
			return o.ID
		}
	}
	return text
}

// nameOf returns the present name of an outbox, or its last one. An unknown outbox is called by its id.
func nameOf(known []journal.Outbox, id string) string {
	for _, o := range known {
		if o.ID == id {
			return o.Name
		}
	}
	return id
}

// resolve finds a run by its subagent, by outbox/subagent, by its key or by the beginning of its key. If the subagent
// has several runs, resolve returns the newest. A parent chooses the names of its subagents, and may choose the key of a
// run that is to escape: so a whole key comes before a name, and its beginning is as good as a name.
func (o *Operator) resolve(ctx context.Context, ref string) (journal.Run, error) {
	outbox, name, qualified := strings.Cut(ref, "/")
	if !qualified {
		outbox, name = "", ref
	}
	known, err := o.Journal.Outboxes(ctx)
	if err != nil {
		return journal.Run{}, err
	}
	found, err := o.Journal.Named(ctx, idOf(known, outbox), name)
	if err == nil && !qualified && len(ref) >= minRef {
		var byKey []journal.Run
		byKey, err = o.Journal.WithPrefix(ctx, ref, 2)
		found = append(byKey, slices.DeleteFunc(found, func(r journal.Run) bool { return len(byKey) > 0 && r.Key == byKey[0].Key })...)
	}
	switch {
	case err != nil:
		return journal.Run{}, err
	case len(found) > 0 && found[0].Key == ref:
		return found[0], nil
	case len(found) == 0:
		return journal.Run{}, fmt.Errorf("%w: %q", control.ErrNoRun, ref)
	case len(found) > 1:
		return journal.Run{}, fmt.Errorf("%w: %q could be %s or %s", control.ErrAmbiguous, ref, referTo(known, found[0]), referTo(known, found[1]))
	}
	return found[0], nil
}

// referTo names a run without ambiguity.
func referTo(known []journal.Outbox, r journal.Run) string {
	return fmt.Sprintf("%s (%s/%s)", r.Key, nameOf(known, r.Outbox), outbox.RecordID(r))
}

// Cancel ends a run for the operator.
func (o *Operator) Cancel(ctx context.Context, ref string) (control.Run, error) {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return control.Run{}, err
	}
	if o.Watcher == nil {
		return control.Run{}, control.ErrNoWatcher
	}
	r := o.Watcher.runs.Running(record.Key)
	if r == nil {
		return o.endUntaken(ctx, record, o.Watcher.unserved.cancel)
	}
	noted := o.stop(ctx, r)
	return o.over(ctx, r, noted)
}

// noteTime is how long the journal may take to note that an operator ends a run.
const noteTime = 5 * time.Second

// stop ends a run. First it notes that in the journal, so that the next watcher ends the run if this one cannot: a
// stranded run waits for its site, and a watcher may be told to stop meanwhile. The error is that of the note; the run is
// stopped without it too, because a disk that hangs must keep no agent alive.
func (o *Operator) stop(ctx context.Context, r *run.Run) (noted error) {
	ctx = context.WithoutCancel(ctx) // what is noted is also done
	if r.Cause() == "" {
		noting, cancel := context.WithTimeout(ctx, noteTime)
		defer cancel()
		crash.At("operator.noted")
		noted = o.Journal.NoteEnding(noting, r.Key(), journal.NewEnding(delegation.ReasonOperator, nil))
	}
	r.Stop(ctx, delegation.ReasonOperator)
	return noted
}

// over waits until a stopped run is over. noted is the error of stop.
func (o *Operator) over(ctx context.Context, r *run.Run, noted error) (control.Run, error) {
	if why := r.Stranded(); why != "" {
		err := fmt.Errorf("%w: %s", control.ErrStranded, why)
		if noted != nil {
			err = fmt.Errorf("%w; the next watcher will not know of it: %w", err, noted)
		}
		return control.Run{}, err
	}
	select {
	case <-r.Over():
	case <-ctx.Done():
		return control.Run{}, ctx.Err()
	}
	now, err := o.Run(ctx, r.Key())
	if err == nil && now.State != delegation.StateEnded {
		err = fmt.Errorf("%w, because it stops or opens its launchers anew: %s", control.ErrUntaken, r.Key()) // the next one ends it
	}
	return now, err
}

// endUntaken ends a run that no goroutine carries. If the run is not in the list of unserved runs, it may have ended
// just now, or the watcher may be about to take it up; the error says which.
func (o *Operator) endUntaken(ctx context.Context, record journal.Run, end func(context.Context, *unserved) error) (control.Run, error) {
	u := o.Watcher.unserved.run(record.Key)
	if u == nil || record.State == delegation.StateEnded {
		now, err := o.Journal.Get(ctx, record.Key)
		switch {
		case err != nil:
			return control.Run{}, err
		case now.State == delegation.StateEnded:
			return control.Run{}, fmt.Errorf("%w: %s", control.ErrEnded, record.Key)
		}
		return control.Run{}, fmt.Errorf("%w: %s", control.ErrUntaken, record.Key)
	}
	if err := end(ctx, u); err != nil {
		return control.Run{}, err
	}
	return o.Run(ctx, record.Key)
}
