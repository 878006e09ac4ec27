package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// held is a sandbox in its hold, with the attachment that can release it.
type held struct {
	handle     sandbox.Handle
	attachment *resumed
	weight     int64
	made       time.Time
	ended      chan struct{} // closed when the sandbox or the attachment has ended

	// The pool's lock guards these.
	furnishing bool // a run is being brought in
	spoiled    bool // bringing in was tried once; do not try again
	givenUp    bool // the run let go of the sandbox while it was being brought in
}

func (h *held) hasEnded() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// watch waits until the sandbox or the attachment ends, and then closes ended.
func (h *held) watch() {
	_, _ = h.attachment.Wait(context.Background()) // also returns when the attachment ends
	close(h.ended)
}

// resumed is an attachment whose first chunks were already read. It delivers them again to its next reader.
type resumed struct {
	sandbox.Attachment
	first  []sandbox.Chunk
	output chan sandbox.Chunk
	begin  sync.Once
	closed chan struct{}
	end    sync.Once
}

func resume(a sandbox.Attachment) *resumed {
	return &resumed{Attachment: a, output: make(chan sandbox.Chunk), closed: make(chan struct{})}
}

// awaitHold reads until init says that it holds. Init says nothing else before its release.
func (r *resumed) awaitHold(ctx context.Context) error {
	said := ""
	for len(said) < len(runfile.Holding) {
		select {
		case chunk, more := <-r.Attachment.Output():
			if !more {
				return errors.New("it ended before it held")
			}
			r.first = append(r.first, chunk)
			said += string(chunk.Bytes)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if said != runfile.Holding {
		return fmt.Errorf("its init does not hold: it said %q", said)
	}
	return nil
}

// Output delivers all output, from the first byte on.
func (r *resumed) Output() <-chan sandbox.Chunk {
	r.begin.Do(func() { go r.pass() })
	return r.output
}

func (r *resumed) pass() {
	defer close(r.output)
	for _, chunk := range r.first {
		if !r.send(chunk) {
			break
		}
	}
	for chunk := range r.Attachment.Output() {
		r.send(chunk)
	}
}

// send reports whether the chunk was read. After Close no reader waits for it.
func (r *resumed) send(chunk sandbox.Chunk) bool {
	select {
	case r.output <- chunk:
		return true
	case <-r.closed:
		return false
	}
}

func (r *resumed) Close() error {
	r.end.Do(func() { close(r.closed) })
	return r.Attachment.Close()
}
