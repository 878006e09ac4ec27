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

// Reader turns one stream of an engine into chunks. In the stream, frames of standard output and standard error take
// turns.
type Reader struct {
	stream io.ReadCloser
	each   deliver
	chunks chan sandbox.Chunk
	told   chan runfile.End // gets init's end when init has marked both streams
	read   chan struct{}    // closed when reading has finished

	frames     atomic.Int64 // read so far
	delivering atomic.Bool  // the reader waits for its consumer
}

// bufferedChunks bounds the chunks that are held for a slow consumer, at up to 32 KiB each.
const bufferedChunks = 16

// deliver turns a frame into a chunk. A chunk with neither bytes nor a gap has nothing new. A nil frame is the end of
// the stream.
type deliver func(stream sandbox.Stream, frame []byte) (sandbox.Chunk, error)

func newReader(stream io.ReadCloser, each deliver) *Reader {
	return &Reader{
		stream: stream, each: each, chunks: make(chan sandbox.Chunk, bufferedChunks), told: make(chan runfile.End, 1), read: make(chan struct{}),
	}
}

// Chunks returns the output. It is closed when Read returns.
func (r *Reader) Chunks() <-chan sandbox.Chunk { return r.chunks }

// Told returns a channel that receives, once, the end that init told.
func (r *Reader) Told() <-chan runfile.End { return r.told }

// Read reads the stream to its end, and delivers chunks until ctx is done. It returns when both the stream and the
// sandbox have ended. ended waits for the sandbox; its error is the reason why the sandbox's end is not known.
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
		// The rest of the output is lost. After Close no consumer minds.
		_ = r.send(ctx, sandbox.Chunk{Stream: sandbox.Stderr, Gap: true})
	}
}

// drainTime bounds how long an engine may be silent about the output of a sandbox that has ended. It ends the output at
// once, unless something is broken.
const drainTime = 10 * time.Second

// Drain returns when the stream of an ended sandbox has been read. It gives up a stream that stays silent.
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

// sink returns the writer that takes the frames of one stream. StdCopy writes each frame whole.
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
