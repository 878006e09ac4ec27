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
	lines    *lines           // which run waits for which
	admitted map[*Ticket]bool // of every run that is not over
	closed   bool
	moved    bool // a queue changed since the positions were last shown
}

// New is a schedule with so many slots. Nothing happens before Loop runs.
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

// inLoop runs f in the loop and waits for what it returns. Where the loop has ended, or ctx is done first, the answer is
// otherwise; f may still run then, so it hands its result over and keeps its hands off the caller's variables.
func inLoop[T any](ctx context.Context, s *Schedule, otherwise T, f func() T) T {
	answer := make(chan T, 1)
	select {
	case s.todo <- func() { answer <- f() }:
	case <-ctx.Done():
		return otherwise
	}
	select {
	case result := <-answer:
		return result
	case <-ctx.Done():
		return otherwise
	}
}

// do is inLoop for what returns nothing.
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
	l.append(t)
	s.admitted[t], s.moved = true, true
	s.dispatch()
	if t.place != inQueue {
		return nil
	}
	if refusal := l.overfull(); refusal != nil {
		s.withdraw(t)
		return refusal
	}
	t.Run.Show(l.queue.Len())
	return nil
}

// Adopt takes a run that has a sandbox already. It holds a slot from now on, even where that is one too many.
func (s *Schedule) Adopt(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		s.lines.join(t)
		s.admitted[t] = true
		s.takeSlot(t)
		t.Run.Launch()
	})
}

func (s *Schedule) takeSlot(t *Ticket) {
	t.place = inSlot
	s.laneOf(t).running++
	s.running++
}

// SetAside takes the slot from a run that nothing can be done for now. It stays in all its lines: nothing may enter its
// workspace.
func (s *Schedule) SetAside(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.place == inSlot {
			t.place = aside
			s.laneOf(t).running--
			s.running--
			s.dispatch()
		}
	})
}

// ComeBack gives a run that was set aside a slot, even where that is one too many.
func (s *Schedule) ComeBack(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.place == aside {
			s.takeSlot(t)
		}
	})
}

// Reserve keeps the workspace of a run whose outbox is not served, until Finished.
func (s *Schedule) Reserve(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		t.place = aside
		s.lines.join(t)
	})
}

// GoFirst puts the next attempt of a run before all others of its outbox. It was admitted with the first one, so no limit of
// the queue turns it away, and it starts when the earlier one is over. It shares that one's fate: a cause to end it, or all
// of them, counts for this one too.
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
		earlier.claim.bequeath(t)
		s.laneOf(t).prepend(t)
		s.admitted[t], s.moved = true, true
	})
}

// conflict refuses a workspace that another subagent uses or waits for, unless the outbox lets such runs wait.
func (s *Schedule) conflict(t *Ticket) *delegation.Refusal {
	if s.laneOf(t).of.QueueBusy {
		return nil
	}
	return inTheWay(s.lines.clash(t, func(other *Ticket) bool { return other.place != leaving }))
}

// inTheWay refuses a run because of another one, if there is one.
func inTheWay(other *Ticket) *delegation.Refusal {
	switch {
	case other == nil:
		return nil
	case other.place == inQueue:
		return Busy(other, "is waited for")
	}
	return Busy(other, "is in use")
}

// Busy refuses a run because of another one.
func Busy(other *Ticket, how string) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeWorkspaceBusy, Field: "workspace", Text: fmt.Sprintf("Workspace %s by subagent %q.", how, other.Subject.Subagent),
		Hint: "Give each subagent a workspace of its own, or let the outbox queue such requests with `busy: queue`.",
	}
}

// Settle notes in which directory a run is about to work, when the run holds it. That is the one that was looked at when it
// was admitted, unless its parent has put another one in its place since, or there was none then. The lines have let the run
// through for the earlier one alone: where another run uses or waits for the directory that is there now, this one is
// refused.
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

// dispatch starts what may start, one outbox after the other.
func (s *Schedule) dispatch() {
	for idle := 0; s.running < s.capacity && idle < len(s.lanes); {
		l := s.lanes[s.next]
		s.next = (s.next + 1) % len(s.lanes)
		t := l.pick()
		if t == nil {
			idle++
			continue
		}
		idle = 0
		t.place = inSlot
		l.running++
		s.running++
		s.moved = true
		t.Run.Launch()
	}
}

// wake notes that runs wait for nothing but a slot any more.
func (s *Schedule) wake(free []*Ticket) {
	for _, t := range free {
		if t.place == inQueue {
			heap.Push(&s.laneOf(t).ready, t)
		}
	}
}

// Leave notes that a run's last process is gone. Its client may ask for another run in the same workspace as soon as it
// is answered, and must not be told that the workspace is busy.
func (s *Schedule) Leave(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.place == inSlot {
			t.place = leaving
		}
	})
}

// Finished frees what a run held.
func (s *Schedule) Finished(ctx context.Context, t *Ticket) {
	s.do(ctx, func() {
		if t.place.held() {
			s.laneOf(t).running--
			s.running--
		}
		s.forget(t)
		s.dispatch()
	})
}

// forget lets go of a run. What waited for it alone may start.
func (s *Schedule) forget(t *Ticket) {
	t.place = nowhere
	delete(s.admitted, t)
	s.wake(s.lines.leave(t))
	heir := t.heir
	if heir == nil || heir.claim == nil {
		return
	}
	if heir.claim.blocked--; heir.claim.blocked == 0 {
		s.wake([]*Ticket{heir})
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
	if t.place != inQueue {
		t.Run.End(reason)
		return
	}
	s.withdraw(t)
	t.Run.Dismiss(reason)
	s.dispatch()
}

// Close refuses what comes from now on and empties the queues. It returns the runs that hold a slot.
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

// Freeze closes the door and leaves everything as it is. It returns how many runs are not over.
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
