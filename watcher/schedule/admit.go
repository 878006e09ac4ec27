package schedule

import (
	"context"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/sandbox"
)

// Submit takes an admitted run, or returns a refusal. The run starts when every earlier run of its subagent is over. If
// ctx ends meanwhile, nobody knows whether the run was taken: it is not refused then, and its record waits for the next
// watcher.
func (s *Schedule) Submit(ctx context.Context, t *Ticket) *delegation.Refusal {
	return inLoop(ctx, s, nil, func() *delegation.Refusal { return s.admit(t) })
}

func (s *Schedule) admit(t *Ticket) *delegation.Refusal {
	if s.closed {
		return shuttingDown()
	}
	if refusal := s.conflict(t); refusal != nil && !t.Admitted { // it waits in line
		return refusal
	}
	l := s.laneOf(t)
	s.lines.join(t)
	l.pushBack(t)
	s.admitted[t], s.moved = true, true
	s.dispatch()
	if t.state != inQueue {
		return nil
	}
	if refusal := l.overfull(); refusal != nil && !t.Admitted {
		s.withdraw(t)
		return refusal
	}
	t.Run.Show(l.queue.Len())
	return nil
}

// Adopt takes a run that already has a sandbox. The run takes a slot at once, even if that is one too many.
func (s *Schedule) Adopt(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		s.lines.join(t)
		s.admitted[t] = true
		s.takeSlot(t)
		t.Run.Launch()
	})
}

// Reserve reserves the workspace of a run whose outbox is not served, until Finished.
func (s *Schedule) Reserve(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		t.state = setAside
		s.lines.join(t)
	})
}

// Take reserves a workspace that no run uses or waits for, until Finished. It returns false if it cannot: a run of the
// same subagent has priority, and so has a run whose directory contains the workspace or lies in it.
func (s *Schedule) Take(ctx context.Context, t *Ticket) bool {
	return inLoop(ctx, s, false, func() bool {
		every := func(*Ticket) bool { return true }
		if s.closed || s.lines.newest(t.Subject) != nil || s.lines.clash(t, every) != nil {
			return false
		}
		t.state = setAside
		s.lines.join(t)
		return true
	})
}

// GoFirst puts the next attempt of a run before all other runs of its outbox. It was admitted together with the first
// attempt, so no limit of the queue turns it away. It starts when the earlier attempt is over. A reason to end the
// earlier attempt, or all runs, ends this one too.
func (s *Schedule) GoFirst(ctx context.Context, earlier, t *Ticket) {
	s.do(ctx, func() {
		reason := earlier.Run.EndAsked()
		if reason == "" && s.closed && s.capacity > 0 {
			reason = delegation.ReasonShutdown
		}
		if reason != "" {
			t.Run.Dismiss(reason)
			return
		}
		t.Above, t.Anywhere = earlier.Above, earlier.Anywhere
		earlier.reservation.passOn(t)
		s.laneOf(t).pushFront(t)
		s.admitted[t], s.moved = true, true
	})
}

// conflict refuses a run if another subagent uses or waits for its workspace, unless the outbox lets such runs wait.
func (s *Schedule) conflict(t *Ticket) *delegation.Refusal {
	if s.laneOf(t).of.QueueBusy {
		return nil
	}
	return inTheWay(s.lines.clash(t, func(other *Ticket) bool { return !other.exited }))
}

// inTheWay refuses a run because of another run, or returns nil if other is nil.
func inTheWay(other *Ticket) *delegation.Refusal {
	switch {
	case other == nil:
		return nil
	case other.state == inQueue:
		return Busy(other, "is waited for")
	}
	return Busy(other, "is in use")
}

// Busy refuses a run because another run uses or waits for the workspace.
func Busy(other *Ticket, how string) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeWorkspaceBusy, Field: "workspace", Text: fmt.Sprintf("Workspace %s by subagent %q.", how, other.Subject.Subagent),
		Hint: "Give each subagent a workspace of its own, or let the outbox queue such requests with `busy: queue`.",
	}
}

// Settle notes the directory where a run is about to work, now that the watcher has opened it. Usually it is the same
// directory as at the admission. But the parent may have exchanged it since, or may have made it only later, and the
// lines let the run in for the earlier directory only. So Settle refuses the run if another run uses or waits for the
// new directory.
func (s *Schedule) Settle(ctx context.Context, t *Ticket, above []sandbox.Directory) *delegation.Refusal {
	return inLoop(ctx, s, shuttingDown(), func() *delegation.Refusal {
		if slices.Equal(t.Above, above) {
			return nil
		}
		free := s.lines.leaveDirs(t)
		t.Above, t.Anywhere = above, false
		refusal := inTheWay(s.lines.clash(t, func(*Ticket) bool { return true }))
		if refusal == nil {
			s.lines.joinDirs(t)
		}
		s.wake(free)
		s.dispatch()
		return refusal
	})
}

func shuttingDown() *delegation.Refusal {
	return &delegation.Refusal{Code: delegation.CodeShuttingDown, Text: "The watcher is shutting down.", Hint: "Ask again when it is back."}
}
