package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
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
	why    error            // why it is stranded; nil where it is not

	turn chan struct{} // one operator at a time ends it
	over atomic.Bool
}

func newUnserved(record journal.Run, box *outbox.Outbox) *unserved {
	return &unserved{record: record, box: box, turn: make(chan struct{}, 1)}
}

// take waits for the turn to end the run. It returns when ctx is done, even if another operator's call hangs. If the run has ended
// meanwhile, it returns ErrEnded.
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

// unservedRuns are a watcher's unserved runs. It owns the list of them, which recovery fills.
type unservedRuns struct {
	of sync.Map // by key

	journal   *journal.Journal
	runs      *run.Runs
	schedule  *schedule.Schedule
	launchers map[string]sandbox.Launcher
	reopen    func() // has the outboxes opened anew
	log       *slog.Logger
	life      context.Context // done when the watcher stops working
}

// add makes an unserved run known.
func (all *unservedRuns) add(u *unserved) { all.of.Store(u.record.Key, u) }

// run is the unserved run of a key, or nil.
func (all *unservedRuns) run(key string) *unserved {
	u, ok := all.of.Load(key)
	if !ok {
		return nil
	}
	return u.(*unserved)
}

// why is why no watcher carries a run that has not ended, "" where one does.
func (all *unservedRuns) why(key string) string {
	u := all.run(key)
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

// cancel ends an unserved run. Its sandbox is gone when that is written down. Where it is stranded it ends when its site is back.
func (all *unservedRuns) cancel(ctx context.Context, u *unserved) error {
	giveBack, err := u.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	if u.record.Handle != nil { // a run without a sandbox needs no note: if it cannot be ended now, it may still start later
		crash.At("unserved.noted")
		if err := all.journal.NoteEnding(ctx, u.record.Key, journal.NewEnding(delegation.ReasonOperator, nil)); err != nil {
			return err
		}
	}
	if u.why != nil {
		return fmt.Errorf("%w: %w", control.ErrStranded, u.why)
	}
	if u.handle.ID != "" {
		crash.At("unserved.removed")
		if err := all.runs.Removals.Once(u.handle); err != nil {
			return fmt.Errorf("remove the sandbox of run %s: %w", u.record.Key, err)
		}
	}
	return all.end(all.life, u, journal.Change{Reason: delegation.ReasonOperator, Ended: time.Now()})
}

// abandon ends an unserved run that is stranded without its sandbox, which may live on.
func (all *unservedRuns) abandon(ctx context.Context, u *unserved) error {
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
	all.log.Warn("the operator gives a stranded run up; its sandbox may run on, and is removed when its site is back",
		"run", u.record.Key, "site", u.record.Handle.Site, "sandbox", u.record.Handle.ID)
	return all.end(all.life, u, journal.Change{Reason: delegation.ReasonLost, Ended: time.Now(), Code: text.Code, Text: text.Text, Hint: text.Hint})
}

// end writes the end of an unserved run down. The watcher answers it when the outbox's directory is back, and never where the outbox is not in
// the configuration.
func (all *unservedRuns) end(ctx context.Context, u *unserved, change journal.Change) error {
	change.Answered = u.box == nil
	crash.At("unserved.ended")
	if err := all.journal.Move(ctx, u.record.Key, u.record.State, delegation.StateEnded, change); err != nil {
		if known, unknown := all.journal.Get(ctx, u.record.Key); unknown != nil || known.State != delegation.StateEnded {
			return err
		}
	}
	u.over.Store(true)
	all.of.Delete(u.record.Key)
	if u.ticket != nil {
		all.schedule.Finished(ctx, u.ticket)
	}
	if u.handle.ID != "" {
		all.runs.Removals.CountLeft(-1)
	}
	return nil
}

// awaitSites asks for the sites of runs that are stranded and unserved, where no running goroutine of a run asks for them.
// So the host learns that a site is back, and opens everything anew. It does the same when a launcher finds the site
// again by itself.
func (all *unservedRuns) awaitSites(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		stranded := false
		for _, u := range all.of.Range {
			if u := u.(*unserved); u.why != nil {
				stranded = true
				if all.isBackFor(ctx, u) {
					all.reopen()
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
func (all *unservedRuns) isBackFor(ctx context.Context, u *unserved) bool {
	ctx, cancel := context.WithTimeout(ctx, listBudget)
	defer cancel()
	launcher := all.launchers[u.record.Handle.Launcher]
	if launcher == nil {
		return false
	}
	site, err := launcher.Site(ctx)
	return err == nil && u.record.Handle.On(site) == nil
}
