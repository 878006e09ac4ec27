package watcher

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/outbox"
	"torno/watcher/run"
	"torno/watcher/schedule"
)

// A run is unserved while it has not ended and its outbox is not served: the outbox's name leads to another directory, or the run is stranded
// and its outbox is not in the configuration any more. No goroutine carries it. An operator can end it, or give it up, all the same.
type unserved struct {
	record journal.Run
	box    *outbox.Outbox   // whose directory is not there; nil where the outbox is not in the configuration
	ticket *schedule.Ticket // keeps its workspace and its subagent; nil where it has no sandbox
	handle sandbox.Handle   // of its sandbox; zero where the site that answers has none
	why    error            // it is stranded for; nil where it is not

	turn chan struct{} // one operator at a time ends it
	over atomic.Bool
}

func newUnserved(record journal.Run, box *outbox.Outbox) *unserved {
	return &unserved{record: record, box: box, turn: make(chan struct{}, 1)}
}

// take waits for the turn to end the run. An operator who leaves, and one who comes when it has ended, does not wait for another
// one's call that hangs.
func (u *unserved) take(ctx context.Context) (giveBack func(), err error) {
	select {
	case u.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if u.over.Load() {
		<-u.turn
		return nil, fmt.Errorf("%w: %s", control.ErrEnded, u.record.Key)
	}
	return func() { <-u.turn }, nil
}

// keepUnserved keeps a run whose outbox's directory is not there as it is, because its client may still wait. Its workspace
// stays taken. Only a sandbox in which nothing ever ran, or whose run has ended, is removed, and a run that an operator has
// cancelled meanwhile is ended.
func (w *Watcher) keepUnserved(ctx context.Context, box *outbox.Outbox, record journal.Run, h sandbox.Handle, there bool) error {
	u := newUnserved(record, box)
	defer w.unservedRuns.Store(record.Key, u)
	switch {
	case record.State == delegation.StateEnded || there && record.Handle == nil:
		u.over.Store(record.State == delegation.StateEnded)
		if there && h.State != sandbox.HandleUncertain {
			w.runs.Removals.Later(record.Key, h)
		}
		return nil
	case !there && w.isElsewhere(record):
		w.desert(ctx, u)
		return nil
	case !there:
		return nil
	}
	if end, begun := w.runs.EndingOf(record.Key); begun && h.State != sandbox.HandleUncertain {
		return w.endAside(ctx, u, h, end)
	}
	w.runs.Removals.CountLeft(1)
	u.handle, u.ticket = h, reservation(record)
	w.schedule.Reserve(ctx, u.ticket)
	w.log.Warn("a run goes on without a watcher until the directory of its outbox is back", "outbox", box.Name, "run", record.Key)
	return nil
}

// endAside ends a run that was being ended, now that its sandbox can be removed. Its client is answered when the directory is back.
func (w *Watcher) endAside(ctx context.Context, u *unserved, h sandbox.Handle, end journal.Change) error {
	w.log.Info("a run that was being ended is ended; its response follows when the directory of its outbox is back", "outbox", u.box.Name, "run", u.record.Key)
	w.runs.Removals.Now(u.record.Key, h)
	u.over.Store(true)
	crash.At("unserved.ended")
	return w.journal.Move(ctx, u.record.Key, u.record.State, delegation.StateEnded, end)
}

// desert leaves a run whose sandbox is on another site, and whose outbox is not served, nothing but its workspace.
func (w *Watcher) desert(ctx context.Context, u *unserved) {
	u.why, u.ticket = u.record.Handle.On(w.sites[u.record.Handle.Launcher]), reservation(u.record)
	w.schedule.Reserve(ctx, u.ticket)
	w.log.Warn("a run is stranded, and its outbox is not served", "outbox", u.record.Outbox, "run", u.record.Key, "error", u.why)
}

// reservation is the ticket of a run without a watcher: it keeps the run's workspace and its subagent.
func reservation(record journal.Run) *schedule.Ticket {
	return &schedule.Ticket{
		Subject: schedule.Subject{Outbox: record.Outbox, Subagent: record.Subagent}, Above: record.Handle.Above,
		Anywhere: len(record.Handle.Above) == 0,
	}
}

// unservedRun is the unserved run of a key, or nil.
func (w *Watcher) unservedRun(key string) *unserved {
	u, ok := w.unservedRuns.Load(key)
	if !ok {
		return nil
	}
	return u.(*unserved)
}

// unservedWhy is why no watcher carries a run that has not ended, "" where one does.
func (w *Watcher) unservedWhy(key string) string {
	u := w.unservedRun(key)
	switch {
	case u == nil || u.over.Load():
		return ""
	case u.box == nil:
		return "its outbox is not in the configuration"
	case u.handle.ID != "":
		return "the directory of its outbox is not there: its sandbox runs on without a watcher, and its response follows when the directory is back"
	}
	return "the directory of its outbox is not there: it goes on when the directory is back"
}

// cancelUnserved ends an unserved run. Its sandbox is gone when that is written down. Where it is stranded it ends when its site is back.
func (w *Watcher) cancelUnserved(ctx context.Context, u *unserved) error {
	giveBack, err := u.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	if u.record.Handle != nil { // what has no sandbox has nothing to be noted for, and may run if it cannot be ended now
		w.runs.NoteEnding(u.record.Key, delegation.ReasonOperator)
	}
	if u.why != nil {
		return fmt.Errorf("%w: %w", control.ErrStranded, u.why)
	}
	if u.handle.ID != "" {
		crash.At("unserved.removed")
		if err := w.runs.Removals.Once(u.handle); err != nil {
			return fmt.Errorf("remove the sandbox of run %s: %w", u.record.Key, err)
		}
	}
	return w.endUnserved(w.life, u, journal.Change{Reason: delegation.ReasonOperator, Ended: time.Now()})
}

// abandonUnserved ends an unserved run that is stranded without its sandbox, which may live on.
func (w *Watcher) abandonUnserved(ctx context.Context, u *unserved) error {
	switch {
	case u.over.Load():
		return fmt.Errorf("%w: %s", control.ErrEnded, u.record.Key)
	case u.why == nil:
		return fmt.Errorf("%w: %s", control.ErrNotStranded, u.record.Key)
	}
	giveBack, err := u.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	text := run.GivenUp()
	w.log.Warn("the operator gives a stranded run up; its sandbox may run on, and is removed when its site is back",
		"run", u.record.Key, "site", u.record.Handle.Site, "sandbox", u.record.Handle.ID)
	return w.endUnserved(w.life, u, journal.Change{Reason: delegation.ReasonLost, Ended: time.Now(), Code: text.Code, Text: text.Text, Hint: text.Hint})
}

// endUnserved writes the end of an unserved run down. The watcher answers it when the outbox's directory is back, and never where the outbox is not in
// the configuration.
func (w *Watcher) endUnserved(ctx context.Context, u *unserved, change journal.Change) error {
	change.Answered = u.box == nil
	crash.At("unserved.ended")
	if err := w.journal.Move(ctx, u.record.Key, u.record.State, delegation.StateEnded, change); err != nil {
		if known, unknown := w.journal.Get(ctx, u.record.Key); unknown != nil || known.State != delegation.StateEnded {
			return err
		}
	}
	u.over.Store(true)
	w.unservedRuns.Delete(u.record.Key)
	if u.ticket != nil {
		w.schedule.Finished(ctx, u.ticket)
	}
	if u.handle.ID != "" {
		w.runs.Removals.CountLeft(-1)
	}
	return nil
}

// endUntaken ends a run that no goroutine carries. Where it is not known as unserved, it may have ended in this moment, or be taken up in the next.
func (o *Operator) endUntaken(ctx context.Context, record journal.Run, end func(context.Context, *unserved) error) (control.Run, error) {
	u := o.Watcher.unservedRun(record.Key)
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

// awaitSites asks for the sites of runs that are stranded and unserved, where no running goroutine of a run asks for them.
// So the host learns that a site is back, and opens everything anew. It does the same when a launcher finds the site
// again by itself.
func (w *Watcher) awaitSites(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		stranded := false
		for _, u := range w.unservedRuns.Range {
			if u := u.(*unserved); u.why != nil {
				stranded = true
				if w.isBackFor(ctx, u) {
					w.reopen()
					return
				}
			}
		}
		if !stranded {
			return
		}
		_ = retry.Pause(ctx, retry.Backoff(try))
	}
}

// isBackFor says whether the site of a stranded run answers.
func (w *Watcher) isBackFor(ctx context.Context, u *unserved) bool {
	ctx, cancel := context.WithTimeout(ctx, listBudget)
	defer cancel()
	launcher := w.config.Launchers[u.record.Handle.Launcher]
	if launcher == nil {
		return false
	}
	site, err := launcher.Site(ctx)
	return err == nil && u.record.Handle.On(site) == nil
}
