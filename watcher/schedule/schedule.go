package schedule

import (
	"container/heap"
	"context"
)

// Schedule holds the queues and the slots of a watcher. Loop owns its state; the other methods send it functions.
type Schedule struct {
	todo     chan func()
	capacity int

	lanes    []*lane
	next     int // the lane whose turn it is
	running  int
	waiting  int              // runs without a slot that wait for something else they need
	back     []*Ticket        // runs whose needs can be met now and that want a slot again, in their order
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

// Loop runs the functions that the other methods send, until ctx is done.
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

// inLoop runs f in the loop and returns its result. If ctx is done first, it returns otherwise; f may still run after
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

// do runs a function without a result in the loop.
func (s *Schedule) do(ctx context.Context, f func()) {
	inLoop(ctx, s, struct{}{}, func() struct{} { f(); return struct{}{} })
}

// dispatch launches the runs that may start, one outbox after the other. Runs that gave their slots back go first.
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

// Find returns the newest run of a subagent that is not over.
func (s *Schedule) Find(ctx context.Context, of Subject) *Ticket {
	return inLoop(ctx, s, nil, func() *Ticket {
		if t := s.lines.newest(of); t != nil && t.Run != nil {
			return t
		}
		return nil // no run, or only a reservation of the workspace
	})
}

// ShowPositions tells the waiting clients their positions, if any has changed.
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

// Load returns how many runs of an outbox are running and waiting. A run that gave its slot back counts as waiting,
// although it stands in no queue.
func (s *Schedule) Load(ctx context.Context, lane string) (running, queued int) {
	now := inLoop(ctx, s, [2]int{}, func() [2]int {
		l := s.laneNamed(lane)
		queued := l.queue.Len()
		for t := range s.admitted {
			if t.Lane == lane && (t.state == waiting || t.state == comeback) {
				queued++
			}
		}
		return [2]int{l.running, queued}
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
