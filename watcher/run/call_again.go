package run

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/notice"
)

// slowCall is how long a call may take before a notice says that it is waited for.
const slowCall = 5 * time.Second

// errSlow is what the notice is raised with then.
var errSlow = errors.New("a call takes very long")

// insistAlways makes a call again whatever is wrong with it, until it is done or the watcher stops working.
func (runs *Runs) insistAlways(what string, call func(context.Context) error) error {
	held := runs.Notices.Flag("")
	defer held.Close()
	for try := 1; ; try++ {
		err := runs.once(held, call)
		if err == nil || errors.Is(err, sandbox.ErrNotFound) {
			return nil
		}
		if runs.Life.Err() != nil {
			return err
		}
		held.Raise(delegation.NoticeLauncher, err)
		retry.Warn(runs.Log, what, try, err)
		runs.pause(runs.Life, retry.Backoff(try))
	}
}

// once makes a call, and says so if it takes long.
func (runs *Runs) once(held *notice.Flag, call func(context.Context) error) error {
	ctx, cancel := runs.within(callBudget, runs.Life)
	defer cancel()
	defer slowNotice(held).Stop()
	return call(ctx)
}

// within is a context of a call that ends with its budget, or a grace after one of these contexts is done.
func (runs *Runs) within(budget time.Duration, ends ...context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(runs.Life), budget)
	for _, end := range ends {
		stop := context.AfterFunc(end, func() { time.AfterFunc(runs.Timing.Grace, cancel) })
		context.AfterFunc(ctx, func() { stop() })
	}
	return ctx, cancel
}

// slowNotice tells of a call that takes long, unless it is stopped.
func slowNotice(held *notice.Flag) *time.Timer {
	return time.AfterFunc(slowCall, func() { held.Raise(delegation.NoticeLauncher, errSlow) })
}

// pause waits, unless the watcher stops working or there is nothing more to wait for.
func (runs *Runs) pause(until context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-until.Done():
	case <-runs.Life.Done():
	}
}

// record has the journal take a step of a run, again and again: what it does not know must not happen, and what has
// happened must be known. It gives up when the journal is sure that it does not take it, when the watcher stops working,
// and when until is done.
func (runs *Runs) record(until context.Context, what string, step func() error) error {
	held := runs.Notices.Flag("")
	defer held.Close()
	for try := 1; ; try++ {
		err := step()
		if err == nil || certain(err) || runs.Life.Err() != nil || until.Err() != nil {
			return err
		}
		held.Raise(delegation.NoticeJournal, err)
		retry.Warn(runs.Log, what, try, err)
		runs.pause(until, retry.Backoff(try))
	}
}

// certain says whether an error of the journal stays the same however often it is asked.
func certain(err error) bool {
	for _, sure := range []error{journal.ErrMoved, journal.ErrUnknown, journal.ErrIllegal, journal.ErrClosed, journal.ErrReadOnly} {
		if errors.Is(err, sure) {
			return true
		}
	}
	return false
}
