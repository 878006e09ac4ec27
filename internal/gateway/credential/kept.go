package credential

import (
	"context"
	"sync"
	"time"
)

const (
	margin = time.Minute      // a value that expires so soon has expired: an exchange takes a while
	calm   = 10 * time.Second // between two readings that a refusal or an error asks for
	stay   = 10 * time.Minute // how long a value without an end is kept
)

// until says how long a value may be kept; the zero value says not at all.
type until struct{ time.Time }

// kept is a value that costs something to read. One caller reads it, the others wait for its result.
type kept[T any] struct {
	costs bool
	ends  bool          // a reading ends with its caller, and nothing of it is kept
	gate  chan struct{} // the goroutine that holds it may read

	mu    sync.Mutex // guards what stands below
	value T
	end   time.Time // of the value
	err   error     // of the last reading
	tried time.Time // when the last reading ended
	stale bool      // the upstream refused the value
}

func newKept[T any](costs bool) *kept[T] { return &kept[T]{costs: costs, gate: make(chan struct{}, 1)} }

// keptOf is for what is read at a place. What a warden reads comes over a connection, which its caller can close.
func keptOf[T any](p place) *kept[T] {
	k := newKept[T](p.costs())
	_, far := p.(distant)
	k.ends = far && !k.costs
	return k
}

// drop says that the value is not taken.
func (k *kept[T]) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = true
}

// get returns the value that is kept, or a new one. A reading that costs goes on when its caller is gone: others wait for it.
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

// wait reads, with the gate in hand, and returns earlier where the caller is gone: a door closes although a command hangs.
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

// look returns what is kept, also an error, where it is not yet time to read again.
func (k *kept[T]) look() (T, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	recent := now.Before(k.calmUntil())
	usable := k.err == nil && !k.stale && now.Before(k.end)
	return k.value, recent || usable, k.err
}

// calmUntil returns when the next reading may be that a refusal or an error asks for.
func (k *kept[T]) calmUntil() time.Time {
	if !k.costs || k.tried.IsZero() {
		return time.Time{}
	}
	return k.tried.Add(calm)
}
