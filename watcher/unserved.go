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

// unserved is a run whose outbox is not served, and that has not ended or is not answered. Either the outbox's directory is
// away. Or the outbox left the configuration, and the run is stranded or waits for its sandbox's removal before it ends.
// No goroutine carries the run. An operator can still end it or give it up.
type unserved struct {
	record journal.Run
	box    *outbox.Outbox   // the outbox whose directory is missing; nil if it is not in the configuration
	ticket *schedule.Ticket // reserves the workspace and the subagent; nil without a sandbox
	handle sandbox.Handle   // the run's sandbox; zero if the site that answers has none
	why    error            // why the run is stranded; nil if it is not
	end    *journal.Change  // its end, as soon as nothing runs in its sandbox; nil if it is not to end

	turn chan struct{} // lets one at a time end the run
	over atomic.Bool
}

func newUnserved(record journal.Run, box *outbox.Outbox) *unserved {
	return &unserved{record: record, box: box, turn: make(chan struct{}, 1)}
}

// take waits for the turn to end the run. It returns when ctx is done, even if another operator's call hangs. If the
// run has ended meanwhile, it returns ErrEnded.
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

// unservedRuns holds a watcher's unserved runs. Recovery fills the list.
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

// add lists a run. If the run is to end, add has its sandbox removed.
func (all *unservedRuns) add(u *unserved) {
	all.of.Store(u.record.Key, u)
	if u.end != nil {
		all.runs.Removals.WhenDead(u.handle, func() { all.endDead(u) })
	}
}

// run returns the unserved run with this key, or nil.
func (all *unservedRuns) run(key string) *unserved {
	u, ok := all.of.Load(key)
	if !ok {
		return nil
	}
	return u.(*unserved)
}

// why explains why no watcher carries an unfinished run, or returns "" if one does.
func (all *unservedRuns) why(key string) string {
	u := all.run(key)
	switch {
	case u == nil || u.over.Load():
		return ""
	case u.end != nil:
		return "its outbox is not served, and it ends when its sandbox can be removed"
	case u.box == nil:
		return "its outbox is not in the configuration"
	case u.handle.ID != "":
		return "the directory of its outbox is not there: its sandbox runs on without a watcher, and its response follows when the directory is back"
	}
	return "the directory of its outbox is not there: it goes on when the directory is back"
}

// cancel ends an unserved run. It removes the sandbox before it writes the end down. A stranded run ends when its site
// is back.
func (all *unservedRuns) cancel(ctx context.Context, u *unserved) error {
	giveBack, err := u.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	// A run without a sandbox needs no note: if it cannot be ended now, it may still start later.
	if u.record.Handle != nil {
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
	change := journal.Change{Reason: delegation.ReasonOperator, Ended: time.Now()}
	if u.record.Ending != nil {
		change = u.record.Ending.Change() // it was being ended already
	}
	return all.end(all.life, u, change)
}

// endDead ends an unserved run that is to end and whose sandbox is dead now. It tries until the journal takes the end.
func (all *unservedRuns) endDead(u *unserved) {
	for try := 1; ; try++ {
		giveBack, err := u.take(all.life)
		if err != nil {
			return // an operator was quicker, or the watcher stops
		}
		end := *u.end
		end.Ended = time.Now()
		err = all.end(all.life, u, end)
		giveBack()
		if err == nil {
			return
		}
		retry.Warn(all.log, "record the end of a run whose outbox is not served", try, err)
		_ = retry.Pause(all.life, retry.Backoff(try))
	}
}

// abandon ends a stranded, unserved run but not its sandbox, which may live on.
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
	all.log.Warn("the operator gives up a stranded run; its sandbox may still run, and the watcher removes it when its site is back",
		"run", u.record.Key, "site", u.record.Handle.Site, "sandbox", u.record.Handle.ID)
	return all.end(all.life, u, journal.Change{Reason: delegation.ReasonLost, Ended: time.Now(), Code: text.Code, Text: text.Text, Hint: text.Hint})
}

// end writes down the end of an unserved run. The client is answered when the outbox's directory is back; if the outbox
// is not in the configuration, it is never answered.
func (all *unservedRuns) end(ctx context.Context, u *unserved, change journal.Change) error {
	change.Answered = u.box == nil
	crash.At("unserved.ended")
	if err := all.journal.Move(ctx, u.record.Key, u.record.State, delegation.StateEnded, change); err != nil {
		if known, unknown := all.journal.Get(ctx, u.record.Key); unknown != nil || known.State != delegation.StateEnded {
			return err
		}
	}
	u.over.Store(true)
	if u.ticket != nil {
		all.schedule.Finished(ctx, u.ticket)
	}
	if u.handle.ID != "" && u.end == nil { // WhenDead counts those that are to end
		all.runs.Removals.CountLeft(-1)
	}
	all.of.Delete(u.record.Key)
	return nil
}

// awaitSites asks for the sites of stranded, unserved runs, because no run's goroutine asks for them. When a site is
// back, or a launcher finds it again by itself, awaitSites has the outboxes opened anew.
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

// isBackFor reports whether the site of a stranded run answers again.
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
