package run

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/notice"
)

// slowCall is how long a call may take before a notice says that it is waited for.
const slowCall = 5 * time.Second

// errSlow is what the notice is raised with then.
var errSlow = errors.New("a call takes very long")

// calls makes the calls on which runs depend, of launchers and of the journal, again where they fail, and tells clients and operators of those
// that take long. It owns the count of those that were left behind.
type calls struct {
	launches *hang.Calls // calls of launchers, for runs that are not released
	notices  *notice.Board
	grace    time.Duration
	log      *slog.Logger
	life     context.Context // done when the watcher stops working
}

func newCalls(p Ports) *calls {
	return &calls{launches: hang.New(p.Timing.launchCalls(), p.Log), notices: p.Notices, grace: p.Timing.Grace, log: p.Log, life: p.Life}
}

// insistAlways makes a call again whatever is wrong with it, until it is done or the watcher stops working.
func (c *calls) insistAlways(what string, call func(context.Context) error) error {
	held := c.notices.Flag("")
	defer held.Close()
	for try := 1; ; try++ {
		err := c.once(held, call)
		if err == nil || errors.Is(err, sandbox.ErrNotFound) {
			return nil
		}
		if c.life.Err() != nil {
			return err
		}
		held.Raise(delegation.NoticeLauncher, err)
		retry.Warn(c.log, what, try, err)
		c.pause(c.life, retry.Backoff(try))
	}
}

// once makes a call, and says so if it takes long.
func (c *calls) once(held *notice.Flag, call func(context.Context) error) error {
	ctx, cancel := c.within(callBudget, c.life)
	defer cancel()
	defer slowNotice(held).Stop()
	return call(ctx)
}

// within is a context of a call that ends with its budget, or a grace after one of these contexts is done.
func (c *calls) within(budget time.Duration, ends ...context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), budget)
	for _, end := range ends {
		stop := context.AfterFunc(end, func() { time.AfterFunc(c.grace, cancel) })
		context.AfterFunc(ctx, func() { stop() })
	}
	return ctx, cancel
}

// slowNotice tells of a call that takes long, unless it is stopped.
func slowNotice(held *notice.Flag) *time.Timer {
	return time.AfterFunc(slowCall, func() { held.Raise(delegation.NoticeLauncher, errSlow) })
}

// pause waits, unless the watcher stops working or there is nothing more to wait for.
func (c *calls) pause(until context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-until.Done():
	case <-c.life.Done():
	}
}

// record has the journal take a step of a run, again and again: what it does not know must not happen, and what has
// happened must be known. It gives up when the journal is sure that it does not take it, when the watcher stops working,
// and when until is done.
func (c *calls) record(until context.Context, what string, step func() error) error {
	held := c.notices.Flag("")
	defer held.Close()
	for try := 1; ; try++ {
		err := step()
		if err == nil || certain(err) || c.life.Err() != nil || until.Err() != nil {
			return err
		}
		held.Raise(delegation.NoticeJournal, err)
		retry.Warn(c.log, what, try, err)
		c.pause(until, retry.Backoff(try))
	}
}

// certain says whether an error of a move stays the same however often it is asked.
func certain(err error) bool {
	for _, sure := range []error{journal.ErrMoved, journal.ErrUnknown, journal.ErrIllegal, journal.ErrClosed, journal.ErrReadOnly} {
		if errors.Is(err, sure) {
			return true
		}
	}
	_, forbidden := errors.AsType[*PhaseError](err)
	return forbidden
}
