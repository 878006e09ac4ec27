package watcher

import (
	"context"
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/schedule"
)

// askEngines asks all launchers which engine they have.
func (w *Watcher) askEngines(ctx context.Context) (map[string]string, error) {
	engines := make(map[string]string, len(w.config.Launchers))
	for name, launcher := range w.config.Launchers {
		err := w.untilAnswered(ctx, "ask for the engine of "+name, func(ctx context.Context) (err error) {
			engines[name], err = launcher.Engine(ctx)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ask for the engine of %s: %w", name, err)
		}
	}
	return engines, nil
}

// isElsewhere says whether a run's sandbox is on another engine than its launcher has.
func (w *Watcher) isElsewhere(record journal.Run) bool {
	return record.Handle != nil && record.Handle.On(w.engines[record.Handle.Launcher]) != nil
}

// strand takes up a run whose sandbox is on another engine. Where its outbox is not served, nothing but its workspace is taken.
func (w *Watcher) strand(ctx context.Context, box *outbox, record journal.Run) error {
	if box != nil {
		return w.adopt(ctx, box, record, *record.Handle)
	}
	w.log.Warn("a run is stranded, and its outbox is not served", "outbox", record.Outbox, "run", record.Key,
		"error", record.Handle.On(w.engines[record.Handle.Launcher]))
	ticket := reservation(record)
	w.deserted.Store(record.Key, ticket)
	w.schedule.Reserve(w.life, ticket)
	return nil
}

// noteEngine has the journal know the engine of a sandbox that a launcher has listed: an earlier version did not note it, and an
// engine may have got another id with an upgrade.
func (w *Watcher) noteEngine(ctx context.Context, record journal.Run, h sandbox.Handle) error {
	if h.Engine == record.Handle.Engine {
		return nil
	}
	noted := *record.Handle
	noted.Engine = h.Engine
	crash.At("recover.engine")
	return w.journal.NoteEngine(ctx, record.Key, noted)
}

// strandedWhy is why a run is stranded, "" when it is not.
func (w *Watcher) strandedWhy(key string) string {
	if _, ok := w.deserted.Load(key); ok {
		return "another engine answers in the place of its own, and its outbox is not served"
	}
	if r := w.road.Running(key); r != nil {
		return r.Stranded()
	}
	return ""
}

// Abandon ends a stranded run without its sandbox, which may live on.
func (o *Operator) Abandon(ctx context.Context, ref string) (control.Run, error) {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return control.Run{}, err
	}
	w := o.Watcher
	if w == nil {
		return control.Run{}, control.ErrNoWatcher
	}
	if ticket, ok := w.deserted.LoadAndDelete(record.Key); ok {
		if err := w.leave(ctx, record, delegation.ReasonLost); err != nil {
			w.deserted.Store(record.Key, ticket)
			return control.Run{}, err
		}
		w.schedule.Finished(ctx, ticket.(*schedule.Ticket))
		return o.Run(ctx, record.Key)
	}
	r := w.road.Running(record.Key)
	switch {
	case r == nil:
		return control.Run{}, fmt.Errorf("%w: %s", control.ErrEnded, record.Key)
	case r.Stranded() == "":
		return control.Run{}, fmt.Errorf("%w: %s", control.ErrNotStranded, record.Key)
	}
	r.GiveUp()
	select {
	case <-r.Over():
	case <-ctx.Done():
		return control.Run{}, errors.Join(ctx.Err(), errAbandoning)
	}
	return o.Run(ctx, record.Key)
}

var errAbandoning = errors.New("the run is given up, and is answered as soon as the journal takes that")
