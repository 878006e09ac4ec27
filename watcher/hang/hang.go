package hang

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Most is how many calls may hang at one place before no other is made there.
const Most = 4

// Calls counts the calls of one kind that were left behind, by the place where they hang. It is safe for concurrent use.
type Calls struct {
	kind Kind
	log  *slog.Logger

	mu   sync.Mutex
	left map[string]int
}

// Kind is a kind of calls that may hang.
type Kind struct {
	Yield             time.Duration // how long one may still take when its context is done
	Err               error         // of a call that was left behind, or was not begun because others hang there
	First, Many, Over string        // what is logged when the first one is left, when no other may begin, and when all are back
}

// New counts the calls of a kind.
func New(kind Kind, log *slog.Logger) *Calls {
	return &Calls{kind: kind, log: log, left: make(map[string]int)}
}

// Full says whether no further call may begin there.
func (h *Calls) Full(where string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left[where] >= Most
}

// Left are the calls that were left behind and have not come back.
func (h *Calls) Left() (sum int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.left {
		sum += n
	}
	return sum
}

// giveUp counts a call that is left behind, unless it has returned just now.
func (h *Calls) giveUp(where string, c *call) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.returned {
		return false
	}
	c.left = true
	h.left[where]++
	switch h.left[where] {
	case 1:
		h.log.Warn(h.kind.First, "where", where) //nolint:sloglint // the kinds are constant
	case Most:
		h.log.Warn(h.kind.Many, "where", where, "calls", Most) //nolint:sloglint // the same
	}
	return true
}

// back notes that a call has returned, and says whether its caller had left.
func (h *Calls) back(c *call) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.returned = true
	return c.left
}

// forget stops counting a call that was left behind.
func (h *Calls) forget(where string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left[where]--
	if h.left[where] == 0 {
		delete(h.left, where)
		h.log.Info(h.kind.Over, "where", where) //nolint:sloglint // the same
	}
}

// call is what a call and its caller know of each other. The lock of Calls guards it.
type call struct{ returned, left bool }

// DoUnlessFull makes a call, unless too many hang there.
func DoUnlessFull[T any](ctx context.Context, h *Calls, where string, do func() (T, error), late func(T, error)) (answer T, err error) {
	if h.Full(where) {
		return answer, h.kind.Err
	}
	return Do(ctx, h, where, do, late)
}

// Do makes a call, and leaves it behind when ctx is done and it does not return. late gets what it returns when the caller
// is gone; the call counts until late is through with that.
func Do[T any](ctx context.Context, h *Calls, where string, do func() (T, error), late func(T, error)) (answer T, err error) {
	type result struct {
		answer T
		err    error
	}
	c, results := new(call), make(chan result, 1)
	go func() {
		answer, err := do()
		results <- result{answer, err}
		if !h.back(c) {
			return
		}
		if late != nil {
			late(answer, err)
		}
		h.forget(where)
	}()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-ctx.Done():
	}
	yield := time.NewTimer(h.kind.Yield)
	defer yield.Stop()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-yield.C:
	}
	if h.giveUp(where, c) {
		return answer, h.kind.Err
	}
	r := <-results
	return r.answer, r.err
}
