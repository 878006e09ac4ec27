package hang

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Most is how many calls may hang at one place before no further call is made there.
const Most = 4

// Calls counts the calls of one kind that were left behind, by the place where they hang. It is safe for concurrent
// use.
type Calls struct {
	kind Kind
	log  *slog.Logger

	mu   sync.Mutex
	left map[string]int
}

// Kind is a kind of calls that may hang.
type Kind struct {
	Yield             time.Duration // how long a call may still take after its context is done
	Err               error         // returned for a call that was left behind, or was not begun because others hang there
	First, Many, Over string        // log messages: the first call is left, no further call may begin, all calls are back
}

// New returns Calls for one kind of call.
func New(kind Kind, log *slog.Logger) *Calls {
	return &Calls{kind: kind, log: log, left: make(map[string]int)}
}

// Full reports whether no further call may begin at a place.
func (h *Calls) Full(where string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left[where] >= Most
}

// Left returns how many calls were left behind and have not come back.
func (h *Calls) Left() (sum int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.left {
		sum += n
	}
	return sum
}

// giveUp counts a call as left behind, unless it has returned just now, and reports whether it counted it.
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
		h.log.Warn(h.kind.First, "where", where) //nolint:sloglint // the messages of a kind are constant
	case Most:
		h.log.Warn(h.kind.Many, "where", where, "calls", Most) //nolint:sloglint // constant, too
	}
	return true
}

// back notes that a call has returned, and reports whether its caller had left.
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
		h.log.Info(h.kind.Over, "where", where) //nolint:sloglint // constant, too
	}
}

// call has the state that a call and its caller share. The lock of Calls guards it.
type call struct{ returned, left bool }

// DoUnlessFull makes a call like Do, unless too many calls hang at the place.
func DoUnlessFull[T any](ctx context.Context, h *Calls, where string, do func() (T, error), late func(T, error)) (answer T, err error) {
	if h.Full(where) {
		return answer, h.kind.Err
	}
	return Do(ctx, h, where, do, late)
}

// Do makes a call, and leaves it behind if the call has not returned soon after ctx is done. When such a call returns
// at last, late gets its result. The call counts as left until late has returned.
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
