package credential

import (
	"context"
	"sync"
	"time"
)

const (
	margin = time.Minute      // a value this close to its end counts as expired, because an exchange takes a while
	calm   = 10 * time.Second // minimum between two readings after a refusal or an error
	stay   = 10 * time.Minute // how long a value without an end is kept
)

// until is the time until which a value may be kept. The zero value means that it must not be kept.
type until struct{ time.Time }

// kept is a value that is costly to read. One caller reads it, and the others wait for that result.
type kept[T any] struct {
	costs bool
	ends  bool          // a reading stops when its caller leaves, and its result is not kept
	gate  chan struct{} // full while a goroutine reads

	mu    sync.Mutex // guards the fields below
	value T
	end   time.Time // of the value
	err   error     // of the last reading
	tried time.Time // the end of the last reading
	stale bool      // the upstream has refused the value
}

func newKept[T any](costs bool) *kept[T] { return &kept[T]{costs: costs, gate: make(chan struct{}, 1)} }

// keptOf makes a kept for a place. A reading through a warden goes over a connection, so its caller can stop it.
func keptOf[T any](p place) *kept[T] {
	k := newKept[T](p.costs())
	_, far := p.(distant)
	k.ends = far && !k.costs
	return k
}

// drop notes that the upstream refused the value.
func (k *kept[T]) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = true
}

// get returns the kept value, or reads a new one. A costly reading goes on after its caller has left, because others
// wait for it.
func (k *kept[T]) get(ctx context.Context, read func(context.Context) (T, until, error)) (T, error) {
	if value, ok, err := k.look(); ok {
		return value, err
	}
	select {
	case k.gate <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	if value, ok, err := k.look(); ok {
		<-k.gate
		return value, err
	}
	if k.ends {
		defer func() { <-k.gate }()
		value, _, err := read(ctx)
		return value, ofSystem(err)
	}
	return k.wait(ctx, read)
}

// wait reads while it holds the gate. It returns early if its caller leaves, so that a door can close although a
// command hangs.
func (k *kept[T]) wait(ctx context.Context, read func(context.Context) (T, until, error)) (value T, err error) {
	done := make(chan struct{})
	var found T
	var failed error
	go func() {
		defer close(done)
		defer func() { <-k.gate }()
		value, end, err := read(context.WithoutCancel(ctx))
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tried = time.Now()
		k.value, k.end, k.err, k.stale = value, end.Time, at(ofSystem(err), k.calmUntil()), false
		found, failed = value, k.err
	}()
	select {
	case <-done:
		return found, failed
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// look returns the kept value or error, and true unless it is time to read again.
func (k *kept[T]) look() (T, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	recent := now.Before(k.calmUntil())
	usable := k.err == nil && !k.stale && now.Before(k.end)
	return k.value, recent || usable, k.err
}

// calmUntil returns the earliest time for the next reading after a refusal or an error.
func (k *kept[T]) calmUntil() time.Time {
	if !k.costs || k.tried.IsZero() {
		return time.Time{}
	}
	return k.tried.Add(calm)
}
