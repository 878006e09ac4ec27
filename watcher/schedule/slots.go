package schedule

import (
	"context"
	"slices"
)

func (s *Schedule) takeSlot(t *Ticket) {
	t.state = inSlot
	s.laneOf(t).running++
	s.running++
}

// SetAside takes the slot from a run that cannot go on for now. The run stays in all its lines, so that its workspace stays
// reserved.
func (s *Schedule) SetAside(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot {
			t.state = setAside
			s.laneOf(t).running--
			s.running--
			s.dispatch()
		}
	})
}

// ComeBack gives a run that was set aside, or gave its slot back, a slot again, even where that is one too many.
func (s *Schedule) ComeBack(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		waited := s.stopWaiting(t)
		if waited || t.state == setAside {
			s.takeSlot(t)
		}
		if waited {
			s.dispatch()
		}
	})
}

// GiveBack takes the slot from a run that cannot have now what it needs beside it. The run stays in all its lines. Until it can have it,
// no other run with needs starts: one that waits tells the others how long.
func (s *Schedule) GiveBack(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot {
			t.state = waiting
			s.waiting++
			s.laneOf(t).running--
			s.running--
			s.dispatch()
		}
	})
}

// TakeBack wants a slot for a run that gave its own back. It goes before all that are in a queue. The channel is closed when it has one.
func (s *Schedule) TakeBack(ctx context.Context, t *Ticket) <-chan struct{} {
	return inLoop(ctx, s, nil, func() <-chan struct{} {
		taken := make(chan struct{})
		if t.state != waiting {
			close(taken)
			return taken
		}
		s.waiting--
		t.state, t.taken = comeback, taken
		s.back = append(s.back, t)
		s.dispatch()
		return taken
	})
}

// stopWaiting has a run wait no more for what it needs, or for its slot. It says whether it did.
func (s *Schedule) stopWaiting(t *Ticket) bool {
	switch t.state {
	case waiting:
		s.waiting--
	case comeback:
		s.back = slices.DeleteFunc(s.back, func(other *Ticket) bool { return other == t })
	default:
		return false
	}
	t.state = setAside
	return true
}

// takeBack gives slots to runs that want theirs back.
func (s *Schedule) takeBack() {
	s.back = slices.DeleteFunc(s.back, func(t *Ticket) bool {
		if l := s.laneOf(t); s.running >= s.capacity || l.running >= l.of.MaxRunning {
			return false
		}
		s.takeSlot(t)
		close(t.taken)
		return true
	})
}

// Exited notes that a run's last process has exited. When the client has its response it may ask for another run in the same
// workspace at once, and that run must not be refused because the workspace is busy.
func (s *Schedule) Exited(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot {
			t.state = removing
		}
	})
}

// Finished frees a run's slot and its reservation.
func (s *Schedule) Finished(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state.hasSlot() {
			s.laneOf(t).running--
			s.running--
		}
		s.forget(t)
		s.dispatch()
	})
}

// forget removes a run from the schedule. Runs that waited for it alone may start.
func (s *Schedule) forget(t *Ticket) {
	s.stopWaiting(t)
	t.state = unscheduled
	delete(s.admitted, t)
	s.wake(s.lines.leave(t))
	next := t.nextAttempt
	if next == nil || next.reservation == nil {
		return
	}
	next.reservation.blocked--
	if next.reservation.blocked == 0 {
		s.wake([]*Ticket{next})
	}
}
