package images

import (
	"context"
	"fmt"
)

// flight is one download of an image, shared by all callers that wait for it.
type flight struct {
	end     context.CancelCauseFunc
	done    chan struct{}
	image   *Image // held until the last caller has left, so that each caller still finds it
	err     error
	waiting int // how many callers wait; guarded by Cache.mu
}

var errNobodyWaits = fmt.Errorf("no caller waits for the image any more: %w", context.Canceled)

// board joins the flight for a reference, or begins it.
func (c *Cache) board(ctx context.Context, ref Ref) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := flightKey{ref.text, ref.pull}
	f := c.flights[key]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		ctx, f.end = context.WithCancelCause(context.WithoutCancel(ctx))
		c.flights[key] = f
		go func() {
			defer close(f.done)
			late := problem(Slow, "it had not arrived after %v", c.options.Deadline)
			ctx, stop := context.WithTimeoutCause(ctx, c.options.Deadline, late)
			defer stop()
			f.image, f.err = c.bring(ctx, ref)
		}()
	}
	f.waiting++
	return f
}

// giveUp takes one caller off the flight. The last caller ends the flight, and waits until it has ended.
func (c *Cache) giveUp(ref Ref, f *flight) {
	c.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last {
		delete(c.flights, flightKey{ref.text, ref.pull})
	}
	c.mu.Unlock()
	if !last {
		return
	}
	f.end(errNobodyWaits)
	<-f.done
	if f.image != nil {
		_ = f.image.Close() // closing the file unlocks it, even if Close returns an error
	}
}

type flightKey struct {
	text string
	pull bool
}
