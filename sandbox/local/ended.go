package local

import (
	"context"
	"errors"

	"torno/sandbox"
)

// ErrClosed is the error of an attachment's Wait after Close.
var ErrClosed = errors.New("the attachment is closed")

// Ended passes the end of a sandbox to everything that waits for it.
type Ended struct {
	done chan struct{} // closed when exit and err are final
	exit sandbox.Exit
	err  error
}

// NewEnded returns the Ended of a sandbox that has not ended yet.
func NewEnded() *Ended { return &Ended{done: make(chan struct{})} }

// Set stores how the sandbox ended, or why that is not known. It is called once.
func (e *Ended) Set(exit sandbox.Exit, err error) {
	e.exit, e.err = exit, err
	close(e.done)
}

// Err waits for the end. It returns nil, or the reason why nothing is known about the end.
func (e *Ended) Err() error {
	<-e.done
	return e.err
}

// Wait implements sandbox.Attachment. If the end is known already, Wait returns it even if ctx is done.
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
