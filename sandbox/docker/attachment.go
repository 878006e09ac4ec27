package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/output"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local"
)

// attachment follows one sandbox with two goroutines: one reads its output, the other waits for its end.
type attachment struct {
	engine *engine.Client
	log    *slog.Logger
	handle sandbox.Handle
	box    *box
	output *output.Reader
	rest   processes.Remains                          // what the kernel kills where the engine does not
	gone   func(doing string, h sandbox.Handle) error // what it means that the container was not found
	first  bool                                       // it has the stream that Start has made, and may release the sandbox

	open  context.Context
	close context.CancelFunc
	tasks sync.WaitGroup

	ended *local.Ended
}

// newAttachment begins to follow.
func (l *Launcher) newAttachment(h sandbox.Handle, b *box, reader *output.Reader, first bool) *attachment {
	a := &attachment{
		engine: l.engine, log: l.options.Log, handle: h, box: b, rest: processes.RemainsOf(h.ID, b.uid, l.options.UIDs), output: reader,
		gone: l.identity.Gone, first: first, ended: local.NewEnded(),
	}
	a.open, a.close = context.WithCancel(context.Background())
	l.attached.Add(a)
	a.tasks.Go(func() { a.output.Read(a.open, a.ended.Err) })
	a.tasks.Go(func() { a.await(l) })
	return a
}

// await waits for the sandbox's end, and then for that of its output.
func (a *attachment) await(l *Launcher) {
	defer l.attached.Drop(a)
	a.ended.Set(a.awaitExit(l))
	a.output.Drain()
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
	case end := <-a.output.Told():
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

func (a *attachment) Output() <-chan sandbox.Chunk { return a.output.Chunks() }
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
	found, cannot := a.rest.Kill()
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
	a.output.Close() // what is being read is of no use to anybody
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
