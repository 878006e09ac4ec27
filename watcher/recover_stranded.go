package watcher

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/control"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/outbox"
	"torno/watcher/run"
)

// askSites asks every launcher for the id of its site.
func (rec *recovery) askSites(ctx context.Context) (map[string]string, error) {
	sites := make(map[string]string, len(rec.config.Launchers))
	for name, launcher := range rec.config.Launchers {
		err := rec.untilAvailable(ctx, "ask for the site of "+name, func(ctx context.Context) (err error) {
			sites[name], err = launcher.Site(ctx)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ask for the site of %s: %w", name, err)
		}
	}
	return sites, nil
}

// isElsewhere reports whether the run's sandbox is on a site other than its launcher's present one.
func (rec *recovery) isElsewhere(record journal.Run) bool {
	return record.Handle != nil && record.Handle.On(rec.sites[record.Handle.Launcher]) != nil
}

// strand takes up a run whose sandbox is on another site. If its outbox is not served, strand only keeps its workspace
// reserved.
func (rec *recovery) strand(ctx context.Context, box *outbox.Outbox, record journal.Run) error {
	if box != nil {
		return rec.adopt(ctx, box, record, *record.Handle)
	}
	u := newUnserved(record, nil)
	rec.reserveStranded(rec.life, u)
	rec.unserved.add(u)
	return nil
}

// noteSite records the site of a sandbox that a launcher has listed, because an earlier version did not record it, and
// because an upgrade may have given the site another id.
func (rec *recovery) noteSite(ctx context.Context, record journal.Run, h sandbox.Handle) error {
	if h.Site == record.Handle.Site {
		return nil
	}
	noted := *record.Handle
	noted.Site = h.Site
	crash.At("recover.site")
	return rec.journal.NoteSite(ctx, record.Key, noted)
}

// standing returns where a run stands, as far as this watcher knows.
func (w *Watcher) standing(key string) run.Standing {
	if u := w.unserved.run(key); u != nil && u.why != nil {
		return run.Standing{Stranded: "another site answers instead of the run's own site, and the run's outbox is not served"}
	}
	if r := w.runs.Running(key); r != nil {
		return r.Standing()
	}
	return run.Standing{}
}

// Abandon ends a stranded run but not its sandbox, which may live on.
func (o *Operator) Abandon(ctx context.Context, ref string) (control.Run, error) {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return control.Run{}, err
	}
	w := o.Watcher
	if w == nil {
		return control.Run{}, control.ErrNoWatcher
	}
	r := w.runs.Running(record.Key)
	if r == nil {
		return o.endUntaken(ctx, record, w.unserved.abandon)
	}
	if r.Stranded() == "" {
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

var errAbandoning = errors.New("the run is given up; the watcher writes its response as soon as the journal has recorded that")
