package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/notice"
)

// errLeftCall says that a launcher call was left behind, or was not begun because other calls of its outbox hang.
var errLeftCall = errors.New("a call of the launcher did not return; the launcher, or a file system of the run, does not answer")

// launchCalls describes launcher calls for runs that are not released. They are counted by outbox: a caller cannot know
// which file system or site hangs, and one parent's requests must not keep other parents from launching.
func (t Timing) launchCalls() hang.Kind {
	return hang.Kind{
		Yield: t.Grace,
		Err:   errLeftCall,
		First: "a call of a launcher does not return, and the watcher leaves it behind; when it returns, the watcher removes its sandbox",
		Many:  "too many calls of launchers do not return; the watcher launches nothing else for the outbox until one returns",
		Over:  "all calls of launchers that were left behind have returned",
	}
}

// launchStep is a launcher call for a run that is not released.
type launchStep[T any] struct {
	what   string
	budget time.Duration
	call   func(context.Context) (T, error)
	// late gets the result of a call that was left behind, and removes the sandbox.
	late func(T, error)
}

// launching makes a call for a run that is not released. If the call does not return although its time is over or the
// run must end, launching leaves it behind. Then the agent never runs: the word is given only after the journal's note
// of the release, and this run gets no word. So the run can be answered at once, and the sandbox is removed when the
// call returns.
func launching[T any](c *calls, r *Run, held *notice.Flag, step launchStep[T]) (T, error) {
	ctx, cancel := c.within(step.budget, c.life, r.ending)
	defer cancel()
	defer slowNotice(held).Stop()
	said := c.notices.Flag(r.request.Outbox)
	answer, err := hang.Do(ctx, c.launches, r.request.Outbox, func() (T, error) { return step.call(ctx) }, func(answer T, err error) {
		defer said.Close()
		if c.life.Err() != nil {
			return // the next start finds the sandbox and removes it
		}
		step.late(answer, err)
	})
	if errors.Is(err, errLeftCall) {
		said.Raise(delegation.NoticeLauncher, err)
	}
	return answer, err
}

// retryLaunch repeats such a call for as long as the launcher does not answer, and returns the result. It gives up when the
// run must end or the watcher stops working.
func retryLaunch[T any](c *calls, r *Run, step launchStep[T]) (T, error) {
	held := c.notices.Flag("")
	defer held.Close()
	for try := 1; ; try++ {
		answer, err := launching(c, r, held, step)
		if !sandbox.IsUnavailable(err) || c.life.Err() != nil || r.Cause() != "" {
			return answer, err
		}
		held.Raise(delegation.NoticeLauncher, err)
		retry.Warn(c.log, step.what, try, err)
		c.pause(r.ending, retry.Backoff(try))
	}
}

// gaveUpCall ends a run whose launcher did not return from a call. The sandbox now belongs to that call: it is removed
// when the call returns.
func (r *runner) gaveUpCall(what string) *outcome {
	r.handle = sandbox.Handle{}
	switch reason := r.Cause(); {
	case reason != "":
		return endedFor(reason)
	case r.runs.Life.Err() != nil:
		return left()
	}
	return failed(delegation.CodeLaunch, fmt.Errorf("%s: %w", what, errLeftCall))
}
