package sandboxtest

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"sync"

	"torno/sandbox"
)

// replay is a sandbox's bounded output. It holds both streams in the order of writing, and addresses them by the byte.
// When it is full, it drops the oldest output, but never output that an attached reader still needs: then the writer
// waits for that reader. So a reader that does not read stops the child, as with a real launcher.
type replay struct {
	limit int64
	chunk int

	mu      sync.Mutex
	pieces  []piece // without gaps between them
	end     int64   // after the last byte
	closed  bool
	readers map[*reader]bool
	changed chan struct{} // every change closes it and makes a new one
}

// piece is a part of one stream. from is the place of its first byte.
type piece struct {
	stream sandbox.Stream
	from   int64
	bytes  []byte
}

// reader is one attachment's place in the log.
type reader struct{ at int64 }

func newReplay(limit int64, chunk int) *replay {
	if limit <= 0 {
		limit = 1 << 20
	}
	return &replay{limit: limit, chunk: chunk, readers: make(map[*reader]bool), changed: make(chan struct{})}
}

// write appends p. If the log is full, it waits for attached readers.
func (r *replay) write(ctx context.Context, stream sandbox.Stream, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		part := p[n:min(len(p), n+r.chunk)]
		if err = r.append(ctx, stream, part); err == nil {
			n += len(part)
		}
	}
	return n, err
}

func (r *replay) append(ctx context.Context, stream sandbox.Stream, part []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.makeRoom(int64(len(part))) {
		if err := r.await(ctx); err != nil {
			return err
		}
	}
	r.pieces = append(r.pieces, piece{stream, r.end, append([]byte(nil), part...)})
	r.end += int64(len(part))
	r.broadcast()
	return nil
}

// makeRoom drops the oldest pieces until n bytes fit. It returns false if a reader still has to read the oldest piece.
// The caller holds the lock.
func (r *replay) makeRoom(n int64) bool {
	for len(r.pieces) > 0 && r.end-r.pieces[0].from+n > r.limit {
		oldest := r.pieces[0]
		for reader := range r.readers {
			if reader.at < oldest.from+int64(len(oldest.bytes)) {
				return false
			}
		}
		r.pieces = r.pieces[1:]
	}
	return true
}

// attach adds a reader that continues after a cursor.
func (r *replay) attach(cursor sandbox.Cursor) (*reader, error) {
	at, err := int64(0), error(nil)
	if cursor != "" {
		at, err = strconv.ParseInt(string(cursor), 10, 64)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || at < 0 || at > r.end {
		return nil, fmt.Errorf("the cursor %q is none of this sandbox", cursor)
	}
	reader := &reader{at: at}
	r.readers[reader] = true
	return reader, nil
}

func (r *replay) detach(reader *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.readers, reader)
	r.broadcast()
}

// next returns the chunk at a reader's place, and waits until it is written. It returns false if no chunk will come.
func (r *replay) next(ctx context.Context, reader *reader) (sandbox.Chunk, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for reader.at == r.end {
		if r.closed || r.await(ctx) != nil {
			return sandbox.Chunk{}, false
		}
	}
	gap := reader.at < r.pieces[0].from
	if gap {
		reader.at = r.pieces[0].from
	}
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].from > reader.at }) - 1
	p := r.pieces[i]
	end := p.from + int64(len(p.bytes))
	return sandbox.Chunk{
		Stream: p.stream,
		Cursor: sandbox.Cursor(strconv.FormatInt(end, 10)),
		Bytes:  append([]byte(nil), p.bytes[reader.at-p.from:]...),
		Gap:    gap,
	}, true
}

// took moves a reader past a chunk that was delivered.
func (r *replay) took(reader *reader, c sandbox.Chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reader.at += int64(len(c.Bytes))
	r.broadcast()
}

// close marks the log as complete: nothing more will be written.
func (r *replay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.broadcast()
}

// await unlocks the log until something changes.
func (r *replay) await(ctx context.Context) error {
	changed := r.changed
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *replay) broadcast() {
	close(r.changed)
	r.changed = make(chan struct{})
}
