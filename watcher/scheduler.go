package watcher

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"torno/delegation"
)

// maxQueuedBytes bounds what the queued runs of one outbox hold in memory.
const maxQueuedBytes = 64 << 20

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
	subjects map[subject]*run // the newest admitted run of each subagent that is not over
	admitted map[*run]bool    // every run that is not over
	closed   bool
	moved    bool // a queue changed since positions was last called
}

// lane is one outbox's queue.
type lane struct {
	box     *outbox
	queue   []*run
	bytes   int64
	running int
}

func newScheduler(capacity int, boxes []*outbox) *scheduler {
	s := &scheduler{
		todo: make(chan func(), 64), capacity: capacity,
		subjects: make(map[subject]*run), admitted: make(map[*run]bool),
	}
	for _, box := range boxes {
		s.lanes = append(s.lanes, &lane{box: box})
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
	l.queue, l.bytes = append(l.queue, r), l.bytes+r.bytes
	s.subjects[r.subject()], s.admitted[r] = r, true
	r.place, s.moved = inQueue, true
	s.dispatch()
	if r.place != inQueue {
		return nil
	}
	if refusal := l.overfull(); refusal != nil {
		s.withdraw(r)
		return refusal
	}
	s.show(r, len(l.queue))
	return nil
}

// adopt takes a run that has a sandbox already. It holds a slot from now on, even where that is one too many.
func (s *scheduler) adopt(ctx context.Context, r *run) {
	s.do(ctx, func() {
		s.subjects[r.subject()], s.admitted[r] = r, true
		r.place = inSlot
		s.laneOf(r.box).running++
		s.running++
		s.launch(r)
	})
}

// first puts the next attempt of a run before all others of its outbox. It was admitted with the first one, so no limit of
// the queue turns it away. It shares the fate of the earlier one: whoever wanted the end of that, or of all, wants this one's.
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
		l := s.laneOf(r.box)
		l.queue, l.bytes = slices.Insert(l.queue, 0, r), l.bytes+r.bytes
		s.subjects[r.subject()], s.admitted[r] = r, true
		r.place, s.moved = inQueue, true
		s.dispatch()
	})
}

// conflict refuses a workspace that is in use by another subagent, unless the outbox lets such runs wait.
func (s *scheduler) conflict(r *run) *delegation.Refusal {
	if r.box.settings.QueueBusy {
		return nil
	}
	for other := range s.admitted {
		if other.place != leaving && other.subject() != r.subject() && other.meets(r) {
			return &delegation.Refusal{
				Code: delegation.CodeWorkspaceBusy, Field: "workspace",
				Text: fmt.Sprintf("Workspace is in use by subagent %q.", other.key.Subagent),
				Hint: "Give each subagent a workspace of its own, or let the outbox queue such requests with `busy: queue`.",
			}
		}
	}
	return nil
}

func shuttingDown() *delegation.Refusal {
	return &delegation.Refusal{Code: delegation.CodeShuttingDown, Text: "The watcher is shutting down.", Hint: "Ask again when it is back."}
}

// overfull says why the last run of a queue cannot stay. One that starts at once never waits, so even an outbox in which
// nobody may wait can run.
func (l *lane) overfull() *delegation.Refusal {
	switch limit, waiting := l.box.settings.Queue, len(l.queue)-1; {
	case waiting >= limit:
		return &delegation.Refusal{
			Code: delegation.CodeQueueFull, Text: fmt.Sprintf("The queue is full: %d requests wait already and %d is the limit.", waiting, limit),
			Hint: "Wait for some of them to end and ask again.",
		}
	case l.bytes > maxQueuedBytes && waiting > 0:
		return &delegation.Refusal{
			Code: delegation.CodeQueueFull, Text: fmt.Sprintf("The queue is full: the requests that wait would hold %d MiB and %d MiB is the limit.", l.bytes>>20, maxQueuedBytes>>20),
			Hint: "Wait for some of them to end and ask again.",
		}
	}
	return nil
}

// dispatch starts what may start, one outbox after the other.
func (s *scheduler) dispatch() {
	for idle := 0; s.running < s.capacity && idle < len(s.lanes); {
		l := s.lanes[s.next]
		s.next = (s.next + 1) % len(s.lanes)
		r := s.pick(l)
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

// pick takes the first run of a lane that may start now.
func (s *scheduler) pick(l *lane) *run {
	if l.running >= l.box.settings.MaxRunning {
		return nil
	}
	for i, r := range l.queue {
		if s.blocked(r) {
			continue
		}
		l.remove(i)
		return r
	}
	return nil
}

// blocked says whether a run must wait for one that holds a slot: one of the same subagent, or in the same workspace.
func (s *scheduler) blocked(r *run) bool {
	for other := range s.admitted {
		if other.place.held() && (other.subject() == r.subject() || other.meets(r)) {
			return true
		}
	}
	return false
}

func (l *lane) remove(i int) {
	l.bytes -= l.queue[i].bytes
	l.queue = slices.Delete(l.queue, i, i+1)
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

// forget lets go of a run. An earlier one of the same subagent may still be on its way out.
func (s *scheduler) forget(r *run) {
	r.place = nowhere
	delete(s.admitted, r)
	if s.subjects[r.subject()] != r {
		return
	}
	delete(s.subjects, r.subject())
	for other := range s.admitted {
		if other.subject() == r.subject() {
			s.subjects[r.subject()] = other
		}
	}
}

// withdraw takes a run out of its queue.
func (s *scheduler) withdraw(r *run) {
	l := s.laneOf(r.box)
	l.remove(slices.Index(l.queue, r))
	s.moved = true
	s.forget(r)
}

// find returns the newest run of a subagent that is not over.
func (s *scheduler) find(ctx context.Context, sub subject) *run {
	return inLoop(ctx, s, nil, func() *run { return s.subjects[sub] })
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
}

// closeDoor refuses what comes from now on and empties the queues. It returns the runs that hold a slot.
func (s *scheduler) closeDoor(ctx context.Context) []*run {
	return inLoop(ctx, s, nil, func() (active []*run) {
		s.closed = true
		for _, l := range s.lanes {
			for len(l.queue) > 0 {
				s.end(l.queue[0], delegation.ReasonShutdown)
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
			for i, r := range l.queue {
				s.show(r, i+1)
			}
		}
	})
}

// load is how much an outbox has running and waiting.
func (s *scheduler) load(ctx context.Context, box *outbox) (running, queued int) {
	now := inLoop(ctx, s, [2]int{}, func() [2]int {
		l := s.laneOf(box)
		return [2]int{l.running, len(l.queue)}
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

// meets says whether two runs have a workspace, or a part of one, in common. Of a run that an older watcher has made and
// that was adopted to be ended only its parent's view is known.
func (r *run) meets(other *run) bool {
	if r.workspace != "" && other.workspace != "" {
		return nested(r.workspace, other.workspace)
	}
	return r.box == other.box && nested(r.spec.WorkspaceMount().Target, other.spec.WorkspaceMount().Target)
}

// nested says whether one path is the other or lies in it.
func nested(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
