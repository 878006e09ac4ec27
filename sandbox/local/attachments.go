package local

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"torno/sandbox"
)

// ErrClosed is what an attachment's Wait returns behind its Close.
var ErrClosed = errors.New("the attachment is closed")

// Ended is how a sandbox ended, for all that wait for that.
type Ended struct {
	done chan struct{} // closed when exit and err are final
	exit sandbox.Exit
	err  error
}

// NewEnded is of a sandbox that has not ended yet.
func NewEnded() *Ended { return &Ended{done: make(chan struct{})} }

// Set says how the sandbox ended, or why that is not known. It is called once.
func (e *Ended) Set(exit sandbox.Exit, err error) {
	e.exit, e.err = exit, err
	close(e.done)
}

// Err waits for the end, and is why nothing is known of it.
func (e *Ended) Err() error {
	<-e.done
	return e.err
}

// Wait is sandbox.Attachment's. An end that is known counts, also in a context that is over.
func (e *Ended) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-e.done:
		return e.exit, e.err
	default:
	}
	select {
	case <-e.done:
		return e.exit, e.err
	case <-ctx.Done():
		return sandbox.Exit{}, ctx.Err()
	}
}

// Attached are the attachments of a launcher that are open. The zero value has none. It is safe for concurrent use.
type Attached struct {
	mu   sync.Mutex
	open map[sandbox.Attachment]bool
}

// Add remembers an attachment that Close must end.
func (a *Attached) Add(one sandbox.Attachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[sandbox.Attachment]bool{}
	}
	a.open[one] = true
}

// Drop forgets an attachment that has come to its end.
func (a *Attached) Drop(one sandbox.Attachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, one)
}

// Close closes all of them. Each drops itself.
func (a *Attached) Close() {
	a.mu.Lock()
	open := slices.Collect(maps.Keys(a.open))
	a.mu.Unlock()
	for _, one := range open {
		one.Close()
	}
}
