package schedule

import (
	"container/heap"
	"container/list"
	"fmt"

	"torno/delegation"
)

// maxQueuedBytes bounds the memory of one outbox's queued runs. The longest queue that can be configured fits in, if
// each request has only some kilobytes.
const maxQueuedBytes = 192 << 20

// lane is one outbox's queue.
type lane struct {
	of          Lane
	queue       *list.List // of *Ticket
	ready       ready      // runs that wait only for a slot
	needy       ready      // likewise, but these runs need something beside the slot
	bytes       int64
	running     int
	leaving     int // the running runs that have exited
	first, last int // the turns given at the end and at the front of the queue
}

func newLane(of Lane) *lane { return &lane{of: of, queue: list.New()} }

// pushBack puts a run behind all others.
func (l *lane) pushBack(t *Ticket) {
	l.last++
	t.turn, t.queued = l.last, l.queue.PushBack(t)
	l.enter(t)
}

// pushFront puts a run before all others.
func (l *lane) pushFront(t *Ticket) {
	l.first--
	t.turn, t.queued = l.first, l.queue.PushFront(t)
	l.enter(t)
}

func (l *lane) enter(t *Ticket) {
	l.bytes += t.Bytes
	t.state, t.rank = inQueue, -1
	if t.reservation.blocked == 0 {
		heap.Push(l.heapOf(t), t)
	}
}

func (l *lane) heapOf(t *Ticket) *ready {
	if t.Needs {
		return &l.needy
	}
	return &l.ready
}

// remove takes a run out of the queue.
func (l *lane) remove(t *Ticket) {
	l.queue.Remove(t.queued)
	l.bytes -= t.Bytes
	if t.rank >= 0 {
		heap.Remove(l.heapOf(t), t.rank)
	}
}

// pick takes the first run that may start now, or returns nil. Unless needsAreMet, it picks only a run without needs.
func (l *lane) pick(needsAreMet bool) (first *Ticket) {
	if l.running >= l.of.MaxRunning {
		return nil
	}
	if len(l.ready) > 0 {
		first = l.ready[0]
	}
	if needsAreMet && len(l.needy) > 0 && (first == nil || l.needy[0].turn < first.turn) {
		first = l.needy[0]
	}
	if first != nil {
		l.remove(first)
	}
	return first
}

// overfull returns a refusal if the last run of the queue cannot stay. A run that starts at once never waits, so even
// an outbox with a queue of 0 can run. Nor does a run count as waiting whose slot another run is about to leave.
func (l *lane) overfull() *delegation.Refusal {
	limit, waiting := l.of.Queue, l.queue.Len()-1-l.leaving
	switch {
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

// ready is a heap of queued runs, sorted by their turn.
type ready []*Ticket

func (h ready) Len() int           { return len(h) }
func (h ready) Less(i, j int) bool { return h[i].turn < h[j].turn }

func (h ready) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].rank, h[j].rank = i, j
}

// Push implements heap.Interface.
func (h *ready) Push(x any) {
	t := x.(*Ticket)
	t.rank = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *ready) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.rank = -1
	return t
}
