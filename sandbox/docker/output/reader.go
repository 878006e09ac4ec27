package output

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/docker/docker/pkg/stdcopy"

	"torno/internal/runfile"
	"torno/sandbox"
)

// Reader turns one stream of an engine, in which the frames of standard output and standard error take turns, into chunks.
type Reader struct {
	stream io.ReadCloser
	each   deliver
	chunks chan sandbox.Chunk
	told   chan runfile.End // gets what init says of the end when it has marked both streams
	read   chan struct{}    // closed when nothing more is to be read

	frames     atomic.Int64 // read so far
	delivering atomic.Bool  // the reader of the chunks is being waited for
}

// bufferedChunks bounds what is held for a slow reader, at up to 32 KiB each.
const bufferedChunks = 16

// deliver turns a frame into a chunk; one without bytes and gap is nothing new. The frame nil is the end of the stream.
type deliver func(stream sandbox.Stream, frame []byte) (sandbox.Chunk, error)

func newReader(stream io.ReadCloser, each deliver) *Reader {
	return &Reader{
		stream: stream, each: each, chunks: make(chan sandbox.Chunk, bufferedChunks), told: make(chan runfile.End, 1), read: make(chan struct{}),
	}
}

// Chunks is the output. It ends when Read returns.
func (r *Reader) Chunks() <-chan sandbox.Chunk { return r.chunks }

// Told gets the end that init has said, once.
func (r *Reader) Told() <-chan runfile.End { return r.told }

// Read reads the stream to its end, and delivers until ctx is done. It returns when both the stream and the sandbox have ended: ended waits
// for the sandbox, and is why nothing is known of its end.
func (r *Reader) Read(ctx context.Context, ended func() error) {
	defer close(r.chunks)
	stdout, stderr := r.sink(ctx, sandbox.Stdout), r.sink(ctx, sandbox.Stderr)
	_, err := stdcopy.StdCopy(stdout, stderr, r.stream)
	if end, marked := markedEnd(err); marked {
		r.told <- end
		err = nil
	} else {
		_, outErr := stdout.Write(nil)
		_, errErr := stderr.Write(nil)
		err = errors.Join(err, outErr, errErr)
	}
	close(r.read)
	r.stream.Close()
	if unknown := ended(); err != nil && unknown == nil {
		_ = r.send(ctx, sandbox.Chunk{Stream: sandbox.Stderr, Gap: true}) // what was not read is lost; after Close no reader minds
	}
}

// drainTime is how long an engine may be silent about the output of a sandbox that has ended. It says so at
// once, unless something is broken.
const drainTime = 10 * time.Second

// Drain returns when the stream of a sandbox that has ended is read, and gives up a stream that stays silent.
func (r *Reader) Drain() {
	for seen := int64(-1); ; {
		select {
		case <-r.read:
			return
		case <-time.After(drainTime):
		}
		if now := r.frames.Load(); now != seen || r.delivering.Load() {
			seen = now
			continue
		}
		r.stream.Close()
	}
}

// Close ends the reading.
func (r *Reader) Close() { r.stream.Close() }

// sink is where frames of one stream go. StdCopy writes each frame whole.
func (r *Reader) sink(ctx context.Context, stream sandbox.Stream) io.Writer {
	return writerFunc(func(frame []byte) (int, error) {
		r.frames.Add(1)
		chunk, err := r.each(stream, frame)
		if len(chunk.Bytes) > 0 || chunk.Gap {
			err = errors.Join(err, r.send(ctx, chunk))
		}
		return len(frame), err
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (r *Reader) send(ctx context.Context, c sandbox.Chunk) error {
	r.delivering.Store(true)
	defer r.delivering.Store(false)
	select {
	case r.chunks <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
