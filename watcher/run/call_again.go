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

// slowCall is how long a call may take before a notice says that the watcher waits for it.
const slowCall = 5 * time.Second

// errSlow is the cause that this notice gives.
var errSlow = errors.New("a call takes very long")

// calls makes the calls on which runs depend, to launchers and to the journal. It repeats failed calls, and tells
// clients and operators of calls that take long. It counts the launcher calls that were left behind.
type calls struct {
	launches *hang.Calls // launcher calls for runs that are not released
	notices  *notice.Board
	grace    time.Duration
	log      *slog.Logger
	life     context.Context // done when the watcher stops working
}

func newCalls(p Ports) *calls {
	return &calls{launches: hang.New(p.Timing.launchCalls(), p.Log), notices: p.Notices, grace: p.Timing.Grace, log: p.Log, life: p.Life}
}

// insistAlways repeats a call whatever error it returns, until the call succeeds or the watcher stops working.
// ErrNotFound counts as success.
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

// once makes a call, and raises a notice if the call takes long.
func (c *calls) once(held *notice.Flag, call func(context.Context) error) error {
	ctx, cancel := c.within(callBudget, c.life)
	defer cancel()
	defer slowNotice(held).Stop()
	return call(ctx)
}

// within returns the context of a call. It ends with the call's budget, or a grace after one of the contexts in ends is
// done.
func (c *calls) within(budget time.Duration, ends ...context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), budget)
	for _, end := range ends {
		stop := context.AfterFunc(end, func() { time.AfterFunc(c.grace, cancel) })
		context.AfterFunc(ctx, func() { stop() })
	}
	return ctx, cancel
}

// slowNotice raises a notice about a call that takes long, unless it is stopped first.
func slowNotice(held *notice.Flag) *time.Timer {
	return time.AfterFunc(slowCall, func() { held.Raise(delegation.NoticeLauncher, errSlow) })
}

// pause waits for d. It returns early when until is done or the watcher stops working.
func (c *calls) pause(until context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-until.Done():
	case <-c.life.Done():
	}
}

// record has the journal take a step of a run, again and again: a step that the journal does not know must not happen,
// and a step that has happened must be known. record gives up when the journal surely does not take the step, when the
// watcher stops working, and when until is done.
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

// certain reports whether a step fails in the same way however often it is repeated.
func certain(err error) bool {
	for _, sure := range []error{journal.ErrMoved, journal.ErrUnknown, journal.ErrIllegal, journal.ErrClosed, journal.ErrReadOnly} {
		if errors.Is(err, sure) {
			return true
		}
	}
	_, forbidden := errors.AsType[*PhaseError](err)
	return forbidden
}
