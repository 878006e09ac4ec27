package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
)

// Grace is how long after a child's time is up a response may take: the host ends the child, removes its sandbox and
// writes.
const Grace = 30 * time.Second

// Wait returns the run's result and removes nothing: the result stays in the outbox until Acknowledge says that the caller
// has it, and until then every Wait returns it. When ctx ends first, the run goes on unless it was spawned with CancelOnDone.
//
// Other ends are ErrNobodyServing when nobody has served the outbox for longer than Options.Patience, ErrGone or
// ErrSuperseded when the request is no longer there, and ErrOverdue when a watcher that is alive left the run unanswered
// for its timeout and Grace. Time spent in the queue does not count. After ErrNobodyServing and ErrOverdue the request is
// still there: Wait may be called again.
func (r *Run) Wait(ctx context.Context) (Result, error) { return r.WaitTelling(ctx, nil) }

// WaitTelling is Wait, and calls tell with what is known of the run at first and whenever that changes, such as its
// place in the queue, or that the watcher died and that it is back. It calls from its own goroutine and waits for tell.
func (r *Run) WaitTelling(ctx context.Context, tell func(Progress)) (Result, error) {
	wake, unsubscribe := r.m.hints.subscribe(r.concerns)
	defer unsubscribe()
	tick := time.NewTicker(r.m.poll)
	defer tick.Stop()
	v := vigil{run: r, tell: tell, limit: time.Now().Add(r.timeout + Grace)}
	for {
		response, err := v.look()
		if errors.Is(err, ErrGone) {
			err = r.m.taken(r.id, r.RequestID(), err)
		}
		if err != nil {
			return Result{}, err
		}
		if response != nil {
			return r.collect(*response), nil
		}
		if v.follow(); v.overdue() {
			return Result{}, v.giveUp(ctx)
		}
		v.report()
		select {
		case <-ctx.Done():
			return Result{}, r.leave(ctx)
		case <-wake:
		case <-tick.C:
		}
	}
}

// concerns says whether a file may tell something new about the run.
func (r *Run) concerns(name string) bool {
	switch name {
	case delegation.ResponseName(r.id), delegation.StatusName(r.id), delegation.RequestName(r.id), delegation.HeartbeatName:
		return true
	}
	return false
}

// leave ends a Wait whose context is done. Without its request the host ends the child and answers nothing.
func (r *Run) leave(ctx context.Context) error {
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

// endOf says why a context is done, as what the caller gave for a cause and as what package context calls it.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// giveUp ends a Wait for a response that is overdue. The sentinel makes sure that the child does not run on for ever.
// Where nobody serves, nobody would see it, and the response is late for that reason.
func (v *vigil) giveUp(ctx context.Context) error {
	r := v.run
	if v.pulse.nobody != nil {
		return fmt.Errorf("subagent %s: %w", r.id, v.pulse.nobody)
	}
	err := fmt.Errorf("subagent %s: %w", r.id, ErrOverdue)
	if v.instead != nil {
		err = fmt.Errorf("%w; what is in its place is none: %w", err, v.instead)
	}
	return errors.Join(err, r.Cancel(context.WithoutCancel(ctx)))
}
