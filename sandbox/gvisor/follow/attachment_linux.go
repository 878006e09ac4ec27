package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/gvisor/keeper/output"
	"torno/sandbox/local"
)

// Sandbox is the sandbox to follow, with functions for everything that an attachment cannot do by itself.
type Sandbox struct {
	ID    string
	Box   keeper.Box
	Stdin bool

	Read   func() error                                // returns sandbox.ErrNotFound if it was removed
	Lost   func(context.Context) (sandbox.Exit, error) // returns how it ended, if its keeper is gone
	Kill   func(context.Context) error
	Signal func(context.Context, sandbox.Signal) error // sends a signal to init
}

// attachment follows one sandbox. It has two goroutines: one reads the output, the other waits for the end.
type attachment struct {
	Sandbox
	line  *keeper.Line
	all   *local.Attached
	holds atomic.Bool // this attachment can release the sandbox: it has the line that Start made

	open   context.Context // done after Close
	close  context.CancelFunc
	output chan sandbox.Chunk
	pumped chan struct{} // closed when pump has ended
	told   *keeper.End   // what the keeper said over the line, after pump has ended
	tasks  sync.WaitGroup
	ended  *local.Ended
}

// New follows a sandbox over a line to its keeper. The attachment belongs to all until it is closed. first: the line
// comes from the start, so nothing is missing on it.
func New(s Sandbox, line *keeper.Line, first bool, all *local.Attached) sandbox.Attachment {
	a := &attachment{Sandbox: s, line: line, all: all, output: make(chan sandbox.Chunk), pumped: make(chan struct{}), ended: local.NewEnded()}
	a.holds.Store(first)
	a.open, a.close = context.WithCancel(context.Background())
	all.Add(a)
	a.tasks.Go(a.pump)
	a.tasks.Go(func() { a.ended.Set(a.await()) })
	return a
}

// pump passes the output on until it ends, or until Close. If the rest cannot be read, pump ends with a gap. A killed
// keeper makes no gap: the run's end says that it is lost.
func (a *attachment) pump() {
	defer close(a.pumped)
	defer close(a.output)
	for {
		out, err := a.line.Read(a.open)
		if errors.Is(err, io.EOF) {
			end := a.line.End()
			a.told = &end
		}
		if errors.Is(err, io.EOF) || errors.Is(err, keeper.ErrGone) || a.open.Err() != nil {
			return
		}
		if err != nil {
			a.send(sandbox.Chunk{Stream: sandbox.Stdout, Cursor: sandbox.Cursor(a.line.Progress().String()), Gap: true})
			return
		}
		stream := sandbox.Stdout
		if out.Kind == output.Stderr {
			stream = sandbox.Stderr
		}
		if !a.send(sandbox.Chunk{Stream: stream, Cursor: sandbox.Cursor(out.Progress.String()), Bytes: out.Bytes, Gap: out.Gap}) {
			return
		}
	}
}

// send passes a chunk on. It returns false if the attachment is closed.
func (a *attachment) send(chunk sandbox.Chunk) bool {
	select {
	case a.output <- chunk:
		return true
	case <-a.open.Done():
		return false
	}
}

// await waits for the end.
func (a *attachment) await() (sandbox.Exit, error) {
	end, err := a.Box.AwaitEnd(a.open)
	switch {
	case a.open.Err() != nil:
		return sandbox.Exit{}, local.ErrClosed
	case errors.Is(err, keeper.ErrGone):
		return a.withoutEnd()
	case err != nil:
		if gone := a.Read(); errors.Is(gone, sandbox.ErrNotFound) {
			return sandbox.Exit{}, gone // it was removed in the meantime
		}
		return sandbox.Exit{}, fmt.Errorf("wait for sandbox %s: %w", a.ID, err)
	}
	return ExitOf(end), nil
}

// withoutEnd returns how a sandbox ended whose keeper has not written that down: the keeper was killed, or its disk is full
// or damaged. In the second case it has told us.
func (a *attachment) withoutEnd() (sandbox.Exit, error) {
	exit, err := a.Lost(a.open)
	select {
	case <-a.pumped:
	case <-a.open.Done():
		return sandbox.Exit{}, local.ErrClosed
	}
	if a.told != nil {
		return ExitOf(*a.told), nil
	}
	return exit, err
}

// Holds reports whether this attachment can release the sandbox.
func (a *attachment) Holds() bool { return a.holds.Load() && a.open.Err() == nil }

// Release makes the keeper give init its word.
func (a *attachment) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.open.Err() != nil || !a.holds.CompareAndSwap(true, false) {
		return fmt.Errorf("release sandbox %s: %w", a.ID, sandbox.ErrNotHeld)
	}
	if err := a.line.Release(); err != nil {
		return fmt.Errorf("release sandbox %s: %w", a.ID, err)
	}
	return nil
}

func (a *attachment) Output() <-chan sandbox.Chunk { return a.output }

func (a *attachment) Input() io.WriteCloser { return agentInput{a} }

// Signal sends INT and TERM to init, which passes them on to the agent. For KILL it asks the keeper, which kills the
// sentry and with it all processes of the sandbox. If the keeper does not answer, the sandbox is killed without it.
func (a *attachment) Signal(ctx context.Context, s sandbox.Signal) error {
	state, err := a.Box.State()
	if err != nil {
		return fmt.Errorf("signal sandbox %s: %w", a.ID, sandbox.ErrNotFound)
	}
	if state != keeper.Live {
		return nil // it is no longer running
	}
	if s == sandbox.Kill {
		err = a.Kill(ctx)
	} else {
		err = a.Sandbox.Signal(ctx, s)
	}
	if err == nil {
		return nil
	}
	if state, stateErr := a.Box.State(); stateErr != nil || state != keeper.Live {
		return nil //nolint:nilerr // it has ended or was removed in the meantime
	}
	return fmt.Errorf("signal sandbox %s: %w", a.ID, err)
}

func (a *attachment) Wait(ctx context.Context) (sandbox.Exit, error) { return a.ended.Wait(ctx) }

func (a *attachment) Close() error {
	a.close()
	err := a.line.Close() // nobody wants the output that is being read
	a.tasks.Wait()
	a.all.Drop(a)
	return err
}

// agentInput writes to the agent's standard input.
type agentInput struct{ a *attachment }

func (i agentInput) Write(p []byte) (int, error) {
	if !i.a.Stdin || i.a.holds.Load() || i.a.open.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	if err := i.a.line.Input(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close ends the agent's input. Before the release it does nothing, because init waits on this input.
func (i agentInput) Close() error {
	if !i.a.Stdin || i.a.holds.Load() || i.a.open.Err() != nil {
		return nil //nolint:nilerr // closing the attachment has closed the input
	}
	return i.a.line.Shut()
}
