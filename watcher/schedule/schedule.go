package schedule

import (
	"container/heap"
	"context"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/sandbox"
)

// Schedule is the queues and the slots of a watcher. Loop owns its state; the other methods send it functions.
type Schedule struct {
	todo     chan func()
	capacity int

	lanes    []*lane
	next     int // the lane whose turn it is
	running  int
	waiting  int              // runs without a slot that wait for what they need beside it
	back     []*Ticket        // runs that can have it now and want their slots back, in their order
	lines    *lines           // which run waits for which
	admitted map[*Ticket]bool // every run that is not over
	closed   bool
	moved    bool // a queue changed since the positions were last shown
}

// New returns a schedule with capacity slots. Nothing happens before Loop runs.
func New(capacity int, lanes []Lane) *Schedule {
	s := &Schedule{todo: make(chan func(), 64), capacity: capacity, lines: newLines(), admitted: make(map[*Ticket]bool)}
	for _, of := range lanes {
		s.lanes = append(s.lanes, newLane(of))
	}
	return s
}

// Loop runs until ctx is done.
func (s *Schedule) Loop(ctx context.Context) {
	for {
		select {
		case f := <-s.todo:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// inLoop runs f in the loop and returns its result. When ctx is done first, it returns otherwise; f may still run after
// that, so f must not touch the caller's variables.
func inLoop[T any](ctx context.Context, s *Schedule, otherwise T, f func() T) T {
	results := make(chan T, 1)
	select {
	case s.todo <- func() { results <- f() }:
	case <-ctx.Done():
		return otherwise
	}
	select {
	case result := <-results:
		return result
	case <-ctx.Done():
		return otherwise
	}
}

// do is inLoop for a function without a result.
func (s *Schedule) do(ctx context.Context, f func()) {
	inLoop(ctx, s, struct{}{}, func() struct{} { f(); return struct{}{} })
}

// Submit takes an admitted run or says why not. It starts when every earlier run of its subagent is over.
func (s *Schedule) Submit(ctx context.Context, t *Ticket) *delegation.Refusal {
	return inLoop(ctx, s, shuttingDown(), func() *delegation.Refusal { return s.admit(t) })
}

func (s *Schedule) admit(t *Ticket) *delegation.Refusal {
	if s.closed {
		return shuttingDown()
	}
	if refusal := s.conflict(t); refusal != nil {
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
	if refusal := l.overfull(); refusal != nil {
		s.withdraw(t)
		return refusal
	}
	t.Run.Show(l.queue.Len())
	return nil
}

// Adopt takes a run that has a sandbox already. The run takes a slot at once, even where that is one too many.
func (s *Schedule) Adopt(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		s.lines.join(t)
		s.admitted[t] = true
		s.takeSlot(t)
		t.Run.Launch()
	})
}

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

// Reserve keeps the workspace of a run whose outbox is not served, until Finished.
func (s *Schedule) Reserve(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		t.state = setAside
		s.lines.join(t)
	})
}

// GoFirst puts the next attempt of a run before all others of its outbox. It was admitted with the first one, so no limit of
// the queue turns it away, and it starts when the earlier one is over. A reason to end the earlier attempt, or all runs,
// ends this one too.
func (s *Schedule) GoFirst(ctx context.Context, earlier, t *Ticket) {
	s.do(ctx, func() {
		reason := earlier.Run.Cause()
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

// conflict refuses a workspace that another subagent uses or waits for, unless the outbox lets such runs wait.
func (s *Schedule) conflict(t *Ticket) *delegation.Refusal {
	if s.laneOf(t).of.QueueBusy {
		return nil
	}
	return inTheWay(s.lines.clash(t, func(other *Ticket) bool { return other.state != removing }))
}

// inTheWay refuses a run because of another run, or returns nil where other is nil.
func inTheWay(other *Ticket) *delegation.Refusal {
	switch {
	case other == nil:
		return nil
	case other.state == inQueue:
		return Busy(other, "is waited for")
	}
	return Busy(other, "is in use")
}

// Busy refuses a run because of another run, which uses or waits for the workspace.
func Busy(other *Ticket, how string) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeWorkspaceBusy, Field: "workspace", Text: fmt.Sprintf("Workspace %s by subagent %q.", how, other.Subject.Subagent),
		Hint: "Give each subagent a workspace of its own, or let the outbox queue such requests with `busy: queue`.",
	}
}

// Settle notes the directory in which a run is about to work, now that the watcher has it open. Usually it is the directory
// that was seen when the run was admitted. But the parent may have exchanged it since, or may have made it only later, and
// the lines let the run in for the earlier directory alone. So Settle refuses the run where another run uses or waits for
// the new one.
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

// dispatch launches the runs that may start, one outbox after the other. Those that gave their slots back go first.
func (s *Schedule) dispatch() {
	s.takeBack()
	for idle := 0; s.running < s.capacity && idle < len(s.lanes); {
		l := s.lanes[s.next]
		s.next = (s.next + 1) % len(s.lanes)
		t := l.pick(s.waiting == 0)
		if t == nil {
			idle++
			continue
		}
		idle = 0
		t.state = inSlot
		l.running++
		s.running++
		s.moved = true
		t.Run.Launch()
	}
}

// wake notes that these runs now wait for a slot only.
func (s *Schedule) wake(free []*Ticket) {
	for _, t := range free {
		if t.state == inQueue {
			heap.Push(s.laneOf(t).heapOf(t), t)
		}
	}
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

// withdraw takes a run out of its queue.
func (s *Schedule) withdraw(t *Ticket) {
	s.laneOf(t).remove(t)
	s.moved = true
	s.forget(t)
}

// Find returns the newest run of a subagent that is not over.
func (s *Schedule) Find(ctx context.Context, of Subject) *Ticket {
	return inLoop(ctx, s, nil, func() *Ticket { return s.lines.newest(of) })
}

// Stop ends a run wherever it is.
func (s *Schedule) Stop(ctx context.Context, t *Ticket, reason delegation.Reason) {
	s.do(ctx, func() { s.end(t, reason) })
}

func (s *Schedule) end(t *Ticket, reason delegation.Reason) {
	if t.state != inQueue {
		t.Run.End(reason)
		return
	}
	s.withdraw(t)
	t.Run.Dismiss(reason)
	s.dispatch()
}

// Close refuses every later run and empties the queues. It returns the runs that have a slot.
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

// Freeze refuses every later run, starts none, and ends none. It returns how many runs are not over.
func (s *Schedule) Freeze(ctx context.Context) int {
	return inLoop(ctx, s, 0, func() int {
		s.closed, s.capacity = true, 0
		return len(s.admitted)
	})
}

// ShowPositions tells the waiting clients where they stand, if any of that changed.
func (s *Schedule) ShowPositions(ctx context.Context) {
	s.do(ctx, func() {
		if !s.moved {
			return
		}
		s.moved = false
		for _, l := range s.lanes {
			position := 0
			for e := l.queue.Front(); e != nil; e = e.Next() {
				position++
				e.Value.(*Ticket).Run.Show(position)
			}
		}
	})
}

// Load is how much an outbox has running and waiting.
func (s *Schedule) Load(ctx context.Context, lane string) (running, queued int) {
	now := inLoop(ctx, s, [2]int{}, func() [2]int {
		l := s.laneNamed(lane)
		return [2]int{l.running, l.queue.Len()}
	})
	return now[0], now[1]
}

func (s *Schedule) laneOf(t *Ticket) *lane { return s.laneNamed(t.Lane) }

func (s *Schedule) laneNamed(name string) *lane {
	for _, l := range s.lanes {
		if l.of.Name == name {
			return l
		}
	}
	panic("schedule: a run of an outbox that is not served")
}
