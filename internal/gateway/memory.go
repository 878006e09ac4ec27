package gateway

import (
	"errors"
	"sync/atomic"
)

// memory bounds the bytes of requests that are held at once. A request is held as a whole, because its model and its bound
// must be known before it leaves, until it was sent.
type memory struct {
	most int64
	used atomic.Int64
}

var errMemory = errors.New("requests under way hold all the memory that there is for them")

// take reserves bytes up to a bound, or fails at once: to wait with half a request would keep others waiting for this one.
func (m *memory) take(n, most int64) error {
	if m.used.Add(n) > most {
		m.used.Add(-n)
		return errMemory
	}
	return nil
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// A quarter of all memory is reserved for doors that hold at most little: a few children that send as much as they may and never end a
// request keep no other child from its model.
const (
	little     = 4 << 20
	forLittles = 4 // 1/forLittles of it
)

// held is what one request holds.
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

// release gives everything back, once.
func (h *held) release() {
	if h.done.Swap(true) {
		return
	}
	h.door.give(h.bytes)
	h.all.give(h.bytes)
}
