package watcher

import (
	"container/heap"
	"context"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/sandbox"
)

// scheduler decides which run goes next. One goroutine, loop, owns its state; the others send it functions. It does no
// input or output and never waits for anything but the next function.
type scheduler struct {
	todo     chan func()
	capacity int
	launch   func(*run)                    // takes the run on its road; must not block
	dismiss  func(*run, delegation.Reason) // ends a run that never left the queue; must not block
	show     func(r *run, position int)    // tells a waiting client where it stands; must not block

	lanes    []*lane
	next     int // whose turn it is
	running  int
	lines    *lines        // who waits for whom
	admitted map[*run]bool // every run that is not over
	closed   bool
	moved    bool // a queue changed since positions was last called
}

func newScheduler(capacity int, boxes []*outbox) *scheduler {
	s := &scheduler{todo: make(chan func(), 64), capacity: capacity, lines: newLines(), admitted: make(map[*run]bool)}
	for _, box := range boxes {
		s.lanes = append(s.lanes, newLane(box))
	}
	return s
}

// loop runs until ctx is done.
func (s *scheduler) loop(ctx context.Context) {
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
func inLoop[T any](ctx context.Context, s *scheduler, otherwise T, f func() T) T {
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
func (s *scheduler) do(ctx context.Context, f func()) {
	inLoop(ctx, s, struct{}{}, func() struct{} { f(); return struct{}{} })
}

// submit takes an admitted run or says why not. It starts when every earlier run of its subagent is over.
func (s *scheduler) submit(ctx context.Context, r *run) *delegation.Refusal {
	return inLoop(ctx, s, shuttingDown(), func() *delegation.Refusal { return s.admit(r) })
}

func (s *scheduler) admit(r *run) *delegation.Refusal {
	if s.closed {
		return shuttingDown()
	}
	if refusal := s.conflict(r); refusal != nil {
		return refusal
	}
	l := s.laneOf(r.box)
	s.lines.join(r)
	l.append(r)
	s.admitted[r], s.moved = true, true
	s.dispatch()
	if r.place != inQueue {
		return nil
	}
	if refusal := l.overfull(); refusal != nil {
		s.withdraw(r)
		return refusal
	}
	s.show(r, l.queue.Len())
	return nil
}

// adopt takes a run that has a sandbox already. It holds a slot from now on, even where that is one too many.
func (s *scheduler) adopt(ctx context.Context, r *run) {
	s.do(ctx, func() {
		s.lines.join(r)
		s.admitted[r] = true
		r.place = inSlot
		s.laneOf(r.box).running++
		s.running++
		s.launch(r)
	})
}

// first puts the next attempt of a run before all others of its outbox. It was admitted with the first one, so no limit of
// the queue turns it away, and it starts when the earlier one is over. It shares that one's fate: a cause to end it, or all
// of them, counts for this one too.
func (s *scheduler) first(ctx context.Context, earlier, r *run) {
	s.do(ctx, func() {
		reason := earlier.cause()
		if reason == "" && s.closed && s.capacity > 0 {
			reason = delegation.ReasonShutdown
		}
		if reason != "" {
			s.dismiss(r, reason)
			return
		}
		r.above, r.anywhere = earlier.above, earlier.anywhere
		earlier.claim.bequeath(r)
		s.laneOf(r.box).prepend(r)
		s.admitted[r], s.moved = true, true
	})
}

// conflict refuses a workspace that another subagent uses or waits for, unless the outbox lets such runs wait.
func (s *scheduler) conflict(r *run) *delegation.Refusal {
	if r.box.settings.QueueBusy {
		return nil
	}
	return inTheWay(s.lines.clash(r, func(other *run) bool { return other.place != leaving }))
}

// inTheWay refuses a run because of another one, if there is one.
func inTheWay(other *run) *delegation.Refusal {
	switch {
	case other == nil:
		return nil
	case other.place == inQueue:
		return busy(other, "is waited for")
	}
	return busy(other, "is in use")
}

// busy refuses a run because of another one.
func busy(other *run, how string) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeWorkspaceBusy, Field: "workspace", Text: fmt.Sprintf("Workspace %s by subagent %q.", how, other.key.Subagent),
		Hint: "Give each subagent a workspace of its own, or let the outbox queue such requests with `busy: queue`.",
	}
}

// settle notes in which directory a run is about to work, when the run holds it. That is the one that was looked at when it
// was admitted, unless its parent has put another one in its place since, or there was none then. The lines have let the run
// through for the earlier one alone: where another run uses or waits for the directory that is there now, this one is
// refused.
func (s *scheduler) settle(ctx context.Context, r *run, above []sandbox.Directory) *delegation.Refusal {
	return inLoop(ctx, s, shuttingDown(), func() *delegation.Refusal {
		if slices.Equal(r.above, above) {
			return nil
		}
		free := s.lines.leaveDirs(r)
		r.above, r.anywhere = above, false
		refusal := inTheWay(s.lines.clash(r, func(*run) bool { return true }))
		if refusal == nil {
			s.lines.joinDirs(r)
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
func (s *scheduler) dispatch() {
	for idle := 0; s.running < s.capacity && idle < len(s.lanes); {
		l := s.lanes[s.next]
		s.next = (s.next + 1) % len(s.lanes)
		r := l.pick()
		if r == nil {
			idle++
			continue
		}
		idle = 0
		r.place = inSlot
		l.running++
		s.running++
		s.moved = true
		s.launch(r)
	}
}

// wake notes that runs wait for nothing but a slot any more.
func (s *scheduler) wake(free []*run) {
	for _, r := range free {
		if r.place == inQueue {
			heap.Push(&s.laneOf(r.box).ready, r)
		}
	}
}

// leave notes that a run's last process is gone. Its client may ask for another run in the same workspace as soon as it
// is answered, and must not be told that the workspace is busy.
func (s *scheduler) leave(ctx context.Context, r *run) {
	s.do(ctx, func() {
		if r.place == inSlot {
			r.place = leaving
		}
	})
}

// finished frees what a run held.
func (s *scheduler) finished(ctx context.Context, r *run) {
	s.do(ctx, func() {
		if r.place.held() {
			s.laneOf(r.box).running--
			s.running--
		}
		s.forget(r)
		s.dispatch()
	})
}

// forget lets go of a run. What waited for it alone may start.
func (s *scheduler) forget(r *run) {
	r.place = nowhere
	delete(s.admitted, r)
	s.wake(s.lines.leave(r))
	heir := r.heir
	if heir == nil || heir.claim == nil {
		return
	}
	if heir.claim.blocked--; heir.claim.blocked == 0 {
		s.wake([]*run{heir})
	}
}

// withdraw takes a run out of its queue.
func (s *scheduler) withdraw(r *run) {
	s.laneOf(r.box).remove(r)
	s.moved = true
	s.forget(r)
}

// find returns the newest run of a subagent that is not over.
func (s *scheduler) find(ctx context.Context, sub subject) *run {
	return inLoop(ctx, s, nil, func() *run { return s.lines.newest(sub) })
}

// stop ends a run wherever it is.
func (s *scheduler) stop(ctx context.Context, r *run, reason delegation.Reason) {
	s.do(ctx, func() { s.end(r, reason) })
}

func (s *scheduler) end(r *run, reason delegation.Reason) {
	if r.place != inQueue {
		r.end(reason)
		return
	}
	s.withdraw(r)
	s.dismiss(r, reason)
	s.dispatch()
}

// closeDoor refuses what comes from now on and empties the queues. It returns the runs that hold a slot.
func (s *scheduler) closeDoor(ctx context.Context) []*run {
	return inLoop(ctx, s, nil, func() (active []*run) {
		s.closed = true
		for _, l := range s.lanes {
			for l.queue.Len() > 0 {
				r := l.queue.Front().Value.(*run)
				s.withdraw(r)
				s.dismiss(r, delegation.ReasonShutdown)
			}
		}
		for r := range s.admitted {
			active = append(active, r)
		}
		return active
	})
}

// rest closes the door and leaves everything as it is. It returns how many runs are not over.
func (s *scheduler) rest(ctx context.Context) int {
	return inLoop(ctx, s, 0, func() int {
		s.closed, s.capacity = true, 0
		return len(s.admitted)
	})
}

// showPositions tells the waiting clients where they stand, if any of that changed.
func (s *scheduler) showPositions(ctx context.Context) {
	s.do(ctx, func() {
		if !s.moved {
			return
		}
		s.moved = false
		for _, l := range s.lanes {
			position := 0
			for e := l.queue.Front(); e != nil; e = e.Next() {
				position++
				s.show(e.Value.(*run), position)
			}
		}
	})
}

// load is how much an outbox has running and waiting.
func (s *scheduler) load(ctx context.Context, box *outbox) (running, queued int) {
	now := inLoop(ctx, s, [2]int{}, func() [2]int {
		l := s.laneOf(box)
		return [2]int{l.running, l.queue.Len()}
	})
	return now[0], now[1]
}

func (s *scheduler) laneOf(box *outbox) *lane {
	for _, l := range s.lanes {
		if l.box == box {
			return l
		}
	}
	panic("watcher: a run of an outbox that is not served")
}
