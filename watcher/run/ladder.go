package run

import (
	"context"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// rung is one step of ending a sandbox: a signal, and how long it may take to help.
type rung struct {
	signal sandbox.Signal
	wait   time.Duration
}

// ladder lists the rungs to climb until the sandbox's last process is gone. The last rung is always Kill.
type ladder []rung

// afterCancel returns the ladder that gives an agent the time to save its work.
func (t Timing) afterCancel() ladder {
	return ladder{{sandbox.Interrupt, t.Interrupt}, {sandbox.Terminate, t.Terminate}, {sandbox.Kill, 0}}
}

// afterDeadline returns the ladder for an agent that has used up its time.
func (t Timing) afterDeadline() ladder {
	return ladder{{sandbox.Terminate, t.Terminate}, {sandbox.Kill, 0}}
}

// killOnly returns the ladder for an agent that fills the disk: every moment costs.
func (t Timing) killOnly() ladder { return ladder{{sandbox.Kill, 0}} }

// ladder returns the ladder for a run that is ended for a reason.
func (t Timing) ladder(reason delegation.Reason) ladder {
	switch reason {
	case delegation.ReasonDeadline:
		return t.afterDeadline()
	case delegation.ReasonWorkspaceLimit:
		return t.killOnly()
	default:
		return t.afterCancel()
	}
}

// Longest returns how long the longest ladder may take up to its last signal.
func (t Timing) Longest() time.Duration { return t.Interrupt + t.Terminate }

// signaller is the part of an attachment that a ladder needs.
type signaller interface {
	Signal(context.Context, sandbox.Signal) error
}

// climb sends one signal after the other until exited is closed. When hurry is closed, it skips to the last rung. It
// returns the error of a signal that could not be sent: the caller then removes the sandbox by force if it still lives.
func (l ladder) climb(ctx context.Context, to signaller, exited, hurry <-chan struct{}) error {
	var failed error
	for i, step := range l {
		if err := send(ctx, to, step.signal); err != nil {
			failed = err
		}
		if i == len(l)-1 {
			break
		}
		timer := time.NewTimer(step.wait)
		select {
		case <-exited:
			timer.Stop()
			return nil
		case <-hurry:
			timer.Stop()
			return send(ctx, to, sandbox.Kill)
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
	return failed
}

// signalBudget is how long a launcher may take to pass on a signal before the next signal is tried.
const signalBudget = 10 * time.Second

func send(ctx context.Context, to signaller, s sandbox.Signal) error {
	ctx, cancel := context.WithTimeout(ctx, signalBudget)
	defer cancel()
	return to.Signal(ctx, s)
}
