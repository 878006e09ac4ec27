package schedule

import (
	"context"

	"torno/delegation"
)

// Stop ends a run, whether it waits or runs.
func (s *Schedule) Stop(ctx context.Context, t *Ticket, reason delegation.Reason) {
	s.do(ctx, func() { s.end(t, reason) })
}

func (s *Schedule) end(t *Ticket, reason delegation.Reason) {
	for t.nextAttempt != nil { // who asks may not know of it yet
		t = t.nextAttempt
	}
	if t.state != inQueue {
		t.Run.End(reason)
		return
	}
	s.withdraw(t)
	t.Run.Dismiss(reason)
	s.dispatch()
}

// withdraw takes a run out of its queue.
func (s *Schedule) withdraw(t *Ticket) {
	s.laneOf(t).remove(t)
	s.moved = true
	s.forget(t)
}

// Close refuses every later run and empties the queues. It returns the runs that are left: they have started.
func (s *Schedule) Close(ctx context.Context) []*Ticket {
	return inLoop(ctx, s, nil, func() (active []*Ticket) {
		s.closed = true
		for _, l := range s.lanes {
			for l.queue.Len() > 0 {
				t := l.queue.Front().Value.(*Ticket)
				s.withdraw(t)
				t.Run.Dismiss(delegation.ReasonShutdown)
			}
		}
		for t := range s.admitted {
			active = append(active, t)
		}
		return active
	})
}

// Freeze refuses every later run. It starts no run and ends none. It returns how many runs are not over.
func (s *Schedule) Freeze(ctx context.Context) int {
	return inLoop(ctx, s, 0, func() int {
		s.closed, s.capacity = true, 0
		return len(s.admitted)
	})
}
