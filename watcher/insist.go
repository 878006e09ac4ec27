package watcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"torno/sandbox"
)

// How long to wait before a call that failed is made again: twice as long each time, and never in step with others.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 15 * time.Second
)

// backoff is the pause before the next try, the first one having been number 1.
func backoff(try int) time.Duration {
	pause := lastPause
	if try < 10 {
		pause = min(lastPause, firstPause<<try)
	}
	return pause/2 + rand.N(pause/2)
}

// unavailable says whether an error tells of an engine that does not answer. Nothing follows from it for the sandbox.
func unavailable(err error) bool {
	return errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// insist makes a call of a launcher again for as long as its engine does not answer, and returns what came of it. It gives
// up when the run must end (none for nil) or the watcher stops working.
func (w *Watcher) insist(r *run, what string, budget time.Duration, call func(context.Context) error) error {
	for try := 1; ; try++ {
		err := w.once(budget, call)
		if !unavailable(err) || w.life.Err() != nil || r != nil && r.cause() != "" {
			return err
		}
		w.warnOf(what, try, err)
		w.pause(backoff(try))
	}
}

// insistAlways makes a call again whatever is wrong with it, until it is done or the watcher stops working.
func (w *Watcher) insistAlways(what string, call func(context.Context) error) error {
	for try := 1; ; try++ {
		err := w.once(removeBudget, call)
		if err == nil || errors.Is(err, sandbox.ErrNotFound) {
			return nil
		}
		if w.life.Err() != nil {
			return err
		}
		w.warnOf(what, try, err)
		w.pause(backoff(try))
	}
}

// grace is how long a call may go on when the watcher stops working, so that what a launcher is making gets done.
const grace = 5 * time.Second

// once makes a call.
func (w *Watcher) once(budget time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.life), budget)
	defer cancel()
	release := context.AfterFunc(w.life, func() { time.AfterFunc(grace, cancel) })
	defer release()
	return call(ctx)
}

// warnOf logs the first failure and then ever fewer of them.
func (w *Watcher) warnOf(what string, try int, err error) {
	if try&(try-1) == 0 {
		w.log.Warn("a launcher's call failed; trying again", "call", what, "try", try, "error", err)
	}
}

// pause waits unless the watcher stops working.
func (w *Watcher) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.life.Done():
	}
}
