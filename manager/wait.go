package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
)

// Grace is the time that a response may take after a child's time is up: the host ends the child, removes its sandbox
// and writes the response.
const Grace = 30 * time.Second

// Wait returns the run's result and removes nothing: the result stays in the outbox until Acknowledge says that the
// caller has it, and until then every Wait returns it. If ctx ends first, the run continues unless it was spawned with
// CancelOnDone.
//
// Wait returns ErrNobodyServing if no watcher has served the outbox for longer than Options.Patience. It returns
// ErrGone or ErrSuperseded if the request is no longer there, and ErrOverdue if a living watcher left the run
// unanswered for its timeout and Grace. Time spent in the queue does not count. After ErrNobodyServing and ErrOverdue
// the request is still there: Wait may be called again.
func (r *Run) Wait(ctx context.Context) (Result, error) { return r.WaitWithUpdates(ctx, nil) }

// WaitWithUpdates waits like Wait, and calls tell with the state of the run at first and whenever it changes: for
// instance the position in the queue, or that the watcher died, or that it is back. It calls tell from its own
// goroutine and waits until tell returns.
func (r *Run) WaitWithUpdates(ctx context.Context, tell func(WaitUpdate)) (Result, error) {
	response, err := r.await(ctx, tell)
	if err != nil {
		return Result{}, err
	}
	return r.collect(*response), nil
}

// WaitForEnd waits like WaitWithUpdates, for a caller that wants no result: it reads no answer.
func (r *Run) WaitForEnd(ctx context.Context, tell func(WaitUpdate)) error {
	_, err := r.await(ctx, tell)
	return err
}

func (r *Run) await(ctx context.Context, tell func(WaitUpdate)) (*delegation.Response, error) {
	wake, unsubscribe := r.m.hints.subscribe(r.concerns)
	defer unsubscribe()
	tick := time.NewTicker(r.m.poll)
	defer tick.Stop()
	t := tracker{run: r, tell: tell, giveUpAt: time.Now().Add(r.timeout + Grace)}
	for {
		response, err := t.check()
		if errors.Is(err, ErrGone) {
			err = r.m.taken(r.id, r.RequestID(), err)
		}
		if response != nil || err != nil {
			return response, err
		}
		t.moveLimit()
		if t.overdue() {
			return nil, t.giveUp(ctx)
		}
		t.report()
		select {
		case <-ctx.Done():
			return nil, r.abandon(ctx)
		case <-wake:
		case <-tick.C:
		}
	}
}

// concerns reports whether a file may tell something new about the run.
func (r *Run) concerns(name string) bool {
	switch name {
	case delegation.ResponseName(r.id), delegation.StatusName(r.id), delegation.RequestName(r.id), delegation.HeartbeatName:
		return true
	}
	return false
}

// abandon ends a Wait whose context is done. With CancelOnDone it withdraws the request: the host then ends the child
// and writes no response.
func (r *Run) abandon(ctx context.Context) error {
	err := fmt.Errorf("wait for %s: %w", r.id, endOf(ctx))
	if !r.cancelOnDone {
		return err
	}
	withdrawn := r.Withdraw()
	if errors.Is(withdrawn, ErrGone) || errors.Is(withdrawn, ErrSuperseded) {
		return err
	}
	return errors.Join(err, withdrawn)
}

// endOf returns why a context is done: the caller's cause, and the error of package context.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// giveUp ends a Wait for a response that is overdue. It writes the sentinel to make sure that the child does not run
// for ever. If no watcher serves, it writes none, because nobody would see the sentinel; then the missing watcher is
// the reason for the delay.
func (t *tracker) giveUp(ctx context.Context) error {
	r := t.run
	if t.heartbeat.absence != nil {
		return fmt.Errorf("subagent %s: %w", r.id, t.heartbeat.absence)
	}
	err := fmt.Errorf("subagent %s: %w", r.id, ErrOverdue)
	if t.unusable != nil {
		err = fmt.Errorf("%w; the response file cannot be used: %w", err, t.unusable)
	}
	return errors.Join(err, r.Cancel(context.WithoutCancel(ctx)))
}
