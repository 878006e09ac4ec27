package schedule

import (
	"context"
	"slices"
)

func (s *Schedule) takeSlot(t *Ticket) {
	t.state = inSlot
	s.count(t, 1)
}

// leaveSlot takes the slot from a run.
func (s *Schedule) leaveSlot(t *Ticket, then ticketState) {
	t.state = then
	s.count(t, -1)
}

// count adds n runs like t to those that have slots.
func (s *Schedule) count(t *Ticket, n int) {
	l := s.laneOf(t)
	s.running += n
	l.running += n
	if t.exited {
		l.leaving += n
	}
}

// SetAside takes the slot from a run that cannot go on for now. The run stays in all its lines, so that its workspace
// stays reserved.
func (s *Schedule) SetAside(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot {
			s.leaveSlot(t, setAside)
			s.dispatch()
		}
	})
}

// ComeBack gives a slot again to a run that was set aside or gave its slot back, even if that is one too many.
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

// GiveBack takes the slot from a run that needs something else and cannot have it now. The run stays in all its lines.
// Until its need is met, no other run with needs starts: one waiting run shows how long it takes.
func (s *Schedule) GiveBack(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot {
			s.leaveSlot(t, waiting)
			s.waiting++
			s.dispatch()
		}
	})
}

// TakeBack asks for a slot for a run that gave its own back. The run goes before all queued runs. The returned channel
// is closed when the run has a slot.
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

// stopWaiting ends a run's waiting for its need or for its slot. It reports whether the run was waiting.
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

// Exited notes that a run is about to be answered: its last process has exited, or the operator has given it up. As soon
// as the client has its response, it may ask for another run in the same workspace, or in the same slot. The schedule
// takes the later run, which starts when the sandbox is removed.
func (s *Schedule) Exited(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot && !t.exited {
			s.laneOf(t).leaving++
		}
		t.exited = true
	})
}

// Finished frees a run's slot and its reservation.
func (s *Schedule) Finished(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.state == inSlot {
			s.leaveSlot(t, unscheduled)
		}
		s.forget(t)
		s.dispatch()
	})
}

// forget removes a run from the schedule. Runs that waited only for it may start.
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
