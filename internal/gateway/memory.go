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

// take reserves bytes, or fails at once: to wait with half a request would keep others waiting for this one.
func (m *memory) take(n int64) error {
	if m.used.Add(n) > m.most {
		m.used.Add(-n)
		return errMemory
	}
	return nil
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// held is what one request holds.
type held struct {
	of    []*memory
	bytes int64
	done  atomic.Bool
}

func (h *held) grow(n int64) error {
	for i, m := range h.of {
		if err := m.take(n); err != nil {
			for _, taken := range h.of[:i] {
				taken.give(n)
			}
			return err
		}
	}
	h.bytes += n
	return nil
}

// release gives everything back, once.
func (h *held) release() {
	if h.done.Swap(true) {
		return
	}
	for _, m := range h.of {
		m.give(h.bytes)
	}
}
