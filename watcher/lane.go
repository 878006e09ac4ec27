package watcher

import (
	"container/heap"
	"container/list"
	"fmt"

	"torno/delegation"
)

// maxQueuedBytes bounds what the queued runs of one outbox hold in memory.
const maxQueuedBytes = 64 << 20

// lane is one outbox's queue.
type lane struct {
	box         *outbox
	queue       *list.List // of *run
	ready       ready
	bytes       int64
	running     int
	first, last int // turns that were given away at either end
}

func newLane(box *outbox) *lane { return &lane{box: box, queue: list.New()} }

// append puts a run behind all others.
func (l *lane) append(r *run) {
	l.last++
	r.turn, r.queued = l.last, l.queue.PushBack(r)
	l.enter(r)
}

// prepend puts a run before all others.
func (l *lane) prepend(r *run) {
	l.first--
	r.turn, r.queued = l.first, l.queue.PushFront(r)
	l.enter(r)
}

func (l *lane) enter(r *run) {
	l.bytes += r.bytes
	r.place, r.rank = inQueue, -1
	if r.claim.blocked == 0 {
		heap.Push(&l.ready, r)
	}
}

// remove takes a run out of the queue.
func (l *lane) remove(r *run) {
	l.queue.Remove(r.queued)
	l.bytes -= r.bytes
	if r.rank >= 0 {
		heap.Remove(&l.ready, r.rank)
	}
}

// pick takes the first run that may start now, or returns nil.
func (l *lane) pick() *run {
	if l.running >= l.box.settings.MaxRunning || len(l.ready) == 0 {
		return nil
	}
	r := l.ready[0]
	l.remove(r)
	return r
}

// overfull says why the last run of a queue cannot stay. One that starts at once never waits, so even an outbox in which
// nobody may wait can run.
func (l *lane) overfull() *delegation.Refusal {
	switch limit, waiting := l.box.settings.Queue, l.queue.Len()-1; {
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

// ready is a heap of the queued runs that wait for nothing but a slot, by their turn.
type ready []*run

func (h ready) Len() int           { return len(h) }
func (h ready) Less(i, j int) bool { return h[i].turn < h[j].turn }

func (h ready) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].rank, h[j].rank = i, j
}

// Push is for container/heap.
func (h *ready) Push(x any) {
	r := x.(*run)
	r.rank = len(*h)
	*h = append(*h, r)
}

// Pop is for container/heap.
func (h *ready) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.rank = -1
	return r
}
