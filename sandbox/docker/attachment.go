package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/local"
)

// attachment follows one sandbox with two goroutines: one reads its output, the other waits for its end.
type attachment struct {
	engine *engine.Client
	log    *slog.Logger
	handle sandbox.Handle
	box    *box
	stream io.ReadCloser
	rest   remains                                    // what the kernel kills where the engine does not
	gone   func(doing string, h sandbox.Handle) error // what it means that the container was not found
	first  bool                                       // it has the stream that Start has made, and may release the sandbox
	output chan sandbox.Chunk

	open  context.Context
	close context.CancelFunc
	tasks sync.WaitGroup

	told  chan runfile.End // gets what init says of the end when it has marked both streams
	ended *local.Ended

	frames     atomic.Int64 // read so far
	delivering atomic.Bool  // the reader of the output is being waited for
}

// bufferedChunks bounds what is held for a slow reader, at up to 32 KiB each.
const bufferedChunks = 16

// drainTime is how long an engine may be silent about the output of a sandbox that has ended. It says so at
// once, unless something is broken.
const drainTime = 10 * time.Second

// newAttachment begins to follow. each gets the frames of the stream, in order.
func (l *Launcher) newAttachment(h sandbox.Handle, b *box, stream io.ReadCloser, first bool, each deliver) *attachment {
	a := &attachment{
		engine: l.engine, log: l.options.Log, handle: h, box: b, rest: l.remainsOf(h.ID, b.uid), stream: stream, gone: l.identity.Gone, first: first,
		output: make(chan sandbox.Chunk, bufferedChunks), told: make(chan runfile.End, 1), ended: local.NewEnded(),
	}
	a.open, a.close = context.WithCancel(context.Background())
	l.attached.Add(a)
	pumped := make(chan struct{})
	a.tasks.Go(func() { a.pump(each, pumped) })
	a.tasks.Go(func() { a.await(l, pumped) })
	return a
}

// deliver turns a frame into a chunk; one without bytes and gap is nothing new. The frame nil is the end of the stream.
type deliver func(stream sandbox.Stream, frame []byte) (sandbox.Chunk, error)

// pump reads the stream to its end. The output ends when both the stream and the sandbox have.
func (a *attachment) pump(each deliver, pumped chan<- struct{}) {
	defer close(a.output)
	stdout, stderr := a.sink(sandbox.Stdout, each), a.sink(sandbox.Stderr, each)
	_, err := stdcopy.StdCopy(stdout, stderr, a.stream)
	if end, marked := markedEnd(err); marked {
		a.told <- end
		err = nil
	} else {
		_, outErr := stdout.Write(nil)
		_, errErr := stderr.Write(nil)
		err = errors.Join(err, outErr, errErr)
	}
	close(pumped)
	a.stream.Close()
	if unknown := a.ended.Err(); err != nil && unknown == nil {
		_ = a.send(sandbox.Chunk{Stream: sandbox.Stderr, Gap: true}) // what was not read is lost; after Close nobody minds
	}
}

// sink is where frames of one stream go. StdCopy writes each frame whole.
func (a *attachment) sink(stream sandbox.Stream, each deliver) io.Writer {
	return writerFunc(func(frame []byte) (int, error) {
		a.frames.Add(1)
		chunk, err := each(stream, frame)
		if len(chunk.Bytes) > 0 || chunk.Gap {
			err = errors.Join(err, a.send(chunk))
		}
		return len(frame), err
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (a *attachment) send(c sandbox.Chunk) error {
	a.delivering.Store(true)
	defer a.delivering.Store(false)
	select {
	case a.output <- c:
		return nil
	case <-a.open.Done():
		return a.open.Err()
	}
}

// await waits for the sandbox's end, and then for that of its output.
func (a *attachment) await(l *Launcher, pumped <-chan struct{}) {
	defer l.attached.Drop(a)
	a.ended.Set(a.awaitExit(l))
	for seen := int64(-1); ; {
		select {
		case <-pumped:
			return
		case <-time.After(drainTime):
		}
		if now := a.frames.Load(); now != seen || a.delivering.Load() {
			seen = now
			continue
		}
		a.stream.Close()
	}
}

// awaitExit waits for the end, as the host sees it or the engine tells it, whichever comes first.
func (a *attachment) awaitExit(l *Launcher) (sandbox.Exit, error) {
	asking, cancel := context.WithCancel(a.open)
	defer cancel()
	answered := make(chan engineAnswer, 1)
	a.tasks.Go(func() {
		code, err := a.engine.Wait(asking, a.handle.ID, container.WaitConditionNotRunning)
		answered <- engineAnswer{code, err}
	})
	select {
	case answer := <-answered:
		return a.exitOf(l, answer)
	case end := <-a.told:
		if exit, seen := a.seeEnd(end); seen {
			return exit, nil
		}
		return a.exitOf(l, <-answered)
	}
}

// engineAnswer is with which code an engine says that a container has ended.
type engineAnswer struct {
	code int
	err  error
}

// exitOf asks the engine about the end that it told.
func (a *attachment) exitOf(l *Launcher, told engineAnswer) (sandbox.Exit, error) {
	if a.isClosed() {
		return sandbox.Exit{}, local.ErrClosed
	}
	if told.err != nil {
		return sandbox.Exit{}, l.identity.Wrap(told.err, "wait for", a.handle)
	}
	if seen := a.box.exit.Load(); seen != nil {
		return *seen, nil
	}
	found, err := a.engine.Inspect(a.open, a.handle.ID)
	switch {
	case engine.IsGone(err) && told.code == killedCode && !a.box.killed.Load():
		return sandbox.Exit{}, l.identity.Wrap(err, "look at", a.handle) // somebody else removed it, and what ran in it
	case engine.IsGone(err):
		return exitWith(told.code), nil // removed since
	case a.isClosed():
		return sandbox.Exit{}, local.ErrClosed
	case err != nil:
		return sandbox.Exit{}, l.identity.Wrap(err, "look at", a.handle)
	}
	exit := exitFrom(found.State)
	if exit.OutOfMemory || exit.Code != killedCode || a.box.killed.Load() {
		return a.box.ended(exit), nil
	}
	return a.whoKilled(l, exit)
}

// whoKilled looks again where a KILL ended the agent that was none of ours. The engine notes in a container's state that
// memory ended it only when that news overtakes the end itself, which on a busy machine one in a hundred does not. And
// whoever removes a container by force has the engine kill it first: then it is not the agent that was ended, but all of it.
func (a *attachment) whoKilled(l *Launcher, exit sandbox.Exit) (sandbox.Exit, error) {
	patient, cancel := context.WithTimeout(a.open, oomPatience)
	defer cancel()
	exit.OutOfMemory = a.engine.RanOutOfMemory(patient, a.handle.ID, exit.StartedAt)
	if exit.OutOfMemory {
		return exit, nil
	}
	if _, err := a.engine.Inspect(a.open, a.handle.ID); engine.IsGone(err) && !a.box.killed.Load() {
		return sandbox.Exit{}, l.identity.Wrap(err, "look at", a.handle)
	}
	return exit, nil
}

// oomPatience is how long the news of memory may come behind that of the end. Only an end by a KILL that nobody here sent
// waits for it.
const oomPatience = 2 * time.Second

// killedCode is the exit code of an agent that a KILL ended.
const killedCode = 128 + 9

func (a *attachment) isClosed() bool { return a.open.Err() != nil }

func (a *attachment) Output() <-chan sandbox.Chunk { return a.output }
func (a *attachment) Input() io.WriteCloser        { return agentInput{a} }

// signalNames are the engine's.
var signalNames = map[sandbox.Signal]string{
	sandbox.Interrupt: "SIGINT", sandbox.Terminate: "SIGTERM", sandbox.Kill: "SIGKILL",
}

// Signal goes to init, which hands INT and TERM on to the agent; with KILL the kernel ends all that is in its namespace.
func (a *attachment) Signal(ctx context.Context, s sandbox.Signal) error {
	name, ok := signalNames[s]
	if !ok {
		return fmt.Errorf("signal %q is none that a sandbox gets", s)
	}
	a.box.asked.Store(true)
	if s == sandbox.Kill {
		a.box.killed.Store(true)
	}
	err := a.signal(ctx, s, name)
	switch {
	case err == nil || engine.IsConflict(err): // it does not run any more
		return nil
	case engine.IsGone(err):
		return a.gone("signal", a.handle)
	}
	return fmt.Errorf("signal container %s: %w", a.handle.ID, err)
}

// answerTime is how long an engine may take for the last signal of all.
const answerTime = 5 * time.Second

// signal has the engine send a signal. Where it does not answer the last one, the kernel sends it: to all processes of the container's
// control group, as far as they are to be seen here (I20). How the container ended the engine tells when it is back.
func (a *attachment) signal(ctx context.Context, s sandbox.Signal, name string) error {
	if s != sandbox.Kill {
		return a.engine.Kill(ctx, a.handle.ID, name)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := a.engine.Kill(ctx, a.handle.ID, name)
	if err == nil || engine.IsConflict(err) || engine.IsGone(err) {
		return err
	}
	found, cannot := a.rest.kill()
	if found == 0 {
		return errors.Join(err, cannot)
	}
	a.log.Warn("the engine does not answer; a container's processes are killed without it",
		"container", a.handle.ID, "processes", found, "error", err)
	return cannot
}

func (a *attachment) Wait(ctx context.Context) (sandbox.Exit, error) { return a.ended.Wait(ctx) }

// Holds says whether this attachment has the connection that Start has made, and init still waits on it. An attachment that
// reads the engine's log has none.
func (a *attachment) Holds() bool {
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	return a.holds()
}

// holds is Holds for a caller that has the box's lock.
func (a *attachment) holds() bool { return a.first && a.box.held && !a.isClosed() }

// Release gives init its word on the connection that Start has made.
func (a *attachment) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	if !a.holds() {
		return fmt.Errorf("release container %s: %w", a.handle.ID, sandbox.ErrNotHeld)
	}
	a.box.held = false
	if _, err := io.WriteString(a.box.input.Conn, a.box.release()); err != nil {
		return engine.Away(fmt.Errorf("release container %s: %w", a.handle.ID, err))
	}
	return nil
}

// Close lets go of a sandbox. One that holds is let go of for good: its init ends with its input.
func (a *attachment) Close() error {
	if a.first {
		a.box.abandon()
	}
	a.close()
	a.stream.Close() // what is being read is of no use to anybody
	a.tasks.Wait()
	return nil
}

// liveStream is an attached connection as a reader.
type liveStream struct{ *types.HijackedResponse }

func (s liveStream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func (s liveStream) Close() error { return s.Conn.Close() }

// agentInput is the agent's standard input, as long as the attachment is open.
type agentInput struct{ a *attachment }

func (i agentInput) Write(p []byte) (int, error) {
	conn := i.a.box.agentInput()
	if conn == nil || i.a.isClosed() {
		return 0, io.ErrClosedPipe
	}
	return conn.Conn.Write(p)
}

// Close is the end of the agent's input. The engine hands it on when our half of the connection ends.
func (i agentInput) Close() error {
	if i.a.isClosed() {
		return nil
	}
	return i.a.box.closeInput()
}

// agentInput is the agent's standard input, nil before the release.
func (b *box) agentInput() *types.HijackedResponse {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		return nil
	}
	return b.input
}

// abandon ends the input of an init that holds.
func (b *box) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		b.dropStreams()
	}
}

func (b *box) closeInput() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.input == nil || b.held {
		return nil
	}
	err := b.input.CloseWrite()
	b.input.Close()
	b.input = nil
	return err
}
