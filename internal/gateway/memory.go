package gateway

import (
	"errors"
	"sync/atomic"
)

// memory bounds the bytes of requests that are held at once. The gateway must know a request's model and bound before
// the request leaves, so it holds the whole request until it was sent.
type memory struct {
	most int64
	used atomic.Int64
}

var errMemory = errors.New("requests under way use all the memory that the gateway has for them")

// take reserves n bytes, or fails at once if that exceeds most. It does not wait: a request that waits with half of its
// body in memory would block others.
func (m *memory) take(n, most int64) error {
	if m.used.Add(n) > most {
		m.used.Add(-n)
		return errMemory
	}
	return nil
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// A quarter of all memory is reserved for doors that hold little or less. Without it, a few children that send as much
// as they may and never end a request could keep every other child from its model.
const (
	little     = 4 << 20
	forLittles = 4 // the reserved share is 1/forLittles
)

// held counts the bytes held for a single request.
type held struct {
	door, all *memory
	bytes     int64
	done      atomic.Bool
}

func (h *held) grow(n int64) error {
	if err := h.door.take(n, h.door.most); err != nil {
		return err
	}
	most := h.all.most
	if h.door.used.Load() > little {
		most -= most / forLittles
	}
	if err := h.all.take(n, most); err != nil {
		h.door.give(n)
		return err
	}
	h.bytes += n
	return nil
}

// release gives all bytes back. Later calls do nothing.
func (h *held) release() {
	if h.done.Swap(true) {
		return
	}
	h.door.give(h.bytes)
	h.all.give(h.bytes)
}
