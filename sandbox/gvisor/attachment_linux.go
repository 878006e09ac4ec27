package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
)

// attachment follows one sandbox. Two goroutines are its own: one reads the output, one waits for the end.
type attachment struct {
	launcher *Launcher
	id       string
	line     *keeper.Line
	stdin    bool
	holds    atomic.Bool // this attachment can release the sandbox: it has the line to the keeper that Start has made

	open   context.Context // until Close
	close  context.CancelFunc
	output chan sandbox.Chunk
	tasks  sync.WaitGroup
	ended  *local.Ended
}

func (l *Launcher) newAttachment(id string, line *keeper.Line, first, stdin bool) *attachment {
	a := &attachment{
		launcher: l, id: id, line: line, stdin: stdin, output: make(chan sandbox.Chunk), ended: local.NewEnded(),
	}
	a.holds.Store(first)
	a.open, a.close = context.WithCancel(context.Background())
	l.attached.Add(a)
	a.tasks.Go(a.pump)
	a.tasks.Go(func() { a.ended.Set(a.await()) })
	return a
}

// pump hands the output on until there is no more.
func (a *attachment) pump() {
	defer close(a.output)
	for {
		out, err := a.line.Read(a.open)
		if err != nil {
			return
		}
		stream := sandbox.Stdout
		if out.Kind == keeper.Stderr {
			stream = sandbox.Stderr
		}
		select {
		case a.output <- sandbox.Chunk{Stream: stream, Cursor: sandbox.Cursor(out.Progress.String()), Bytes: out.Bytes, Gap: out.Gap}:
		case <-a.open.Done():
			return
		}
	}
}

// await waits for the end.
func (a *attachment) await() (sandbox.Exit, error) {
	end, err := a.launcher.boxes.Keeper(a.id).AwaitEnd(a.open)
	switch {
	case a.open.Err() != nil:
		return sandbox.Exit{}, local.ErrClosed
	case errors.Is(err, keeper.ErrGone):
		return a.launcher.afterKeeper(a.open, a.id)
	case err != nil:
		if _, gone := a.launcher.boxes.Read(a.id); errors.Is(gone, sandbox.ErrNotFound) {
			return sandbox.Exit{}, gone // it was removed meanwhile
		}
		return sandbox.Exit{}, fmt.Errorf("wait for sandbox %s: %w", a.id, err)
	}
	return exitOf(end), nil
}

// The exit codes of an agent that a signal ended: a KILL, or an ABRT for a sentry that breaks down.
const (
	killedCode = 128 + 9
	brokenCode = 128 + 6
)

// ownCodes are those with which a sentry ends that breaks down: Go's runtime with the first, gVisor's code with the other.
// Init may end with them, too; then the sentry has said nothing.
var ownCodes = []int{2, 128}

// exitOf reads an end. The sentry ends as init does. Where it ends otherwise, the keeper has seen that all the same, so that
// it is known how the sandbox ended: by a signal. It is not lost, and must not count as lost. A child that finds a flaw in the
// sentry can end it whenever it likes, and what is lost may be attempted again.
func exitOf(end keeper.End) sandbox.Exit {
	exit := sandbox.Exit{
		StartedAt: end.StartedAt, FinishedAt: end.FinishedAt, FinishedIn: end.FinishedIn, PeakMemory: end.Use.PeakMemory, CPUTime: end.Use.CPUTime,
		OutOfMemory: end.Use.Killed > 0,
	}
	switch {
	case !end.Started:
		exit.Unknown, exit.Why = true, "gVisor did not start it: "+end.Trouble
	case end.Signal != 0 && (end.Asked || exit.OutOfMemory):
		exit.Code = killedCode
	case end.Signal != 0:
		exit.Code, exit.Why = 128+end.Signal, fmt.Sprintf("gVisor's kernel was killed by signal %d, and with it all processes of the sandbox", end.Signal)
	case end.Trouble != "" && slices.Contains(ownCodes, end.Code):
		exit.Code, exit.Why = brokenCode, "gVisor's kernel broke down, and with it all processes of the sandbox: "+end.Trouble
	default:
		code, known := runfile.AgentExit(end.Code)
		exit.Code, exit.Unknown = code, !known
	}
	return exit
}

// Holds says whether this attachment can release the sandbox.
func (a *attachment) Holds() bool { return a.holds.Load() && a.open.Err() == nil }

// Release has the keeper give init its word.
func (a *attachment) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.open.Err() != nil || !a.holds.CompareAndSwap(true, false) {
		return fmt.Errorf("release sandbox %s: %w", a.id, sandbox.ErrNotHeld)
	}
	if err := a.line.Release(); err != nil {
		return fmt.Errorf("release sandbox %s: %w", a.id, err)
	}
	return nil
}

func (a *attachment) Output() <-chan sandbox.Chunk { return a.output }

func (a *attachment) Input() io.WriteCloser { return agentInput{a} }

// Signal goes to init, which hands INT and TERM on to the agent. KILL is the keeper's, which kills the sentry, in which all
// processes of the sandbox live. Where the keeper does not answer the kernel kills it.
func (a *attachment) Signal(ctx context.Context, s sandbox.Signal) error {
	box := a.launcher.boxes.Keeper(a.id)
	state, err := box.State()
	if err != nil {
		return fmt.Errorf("signal sandbox %s: %w", a.id, sandbox.ErrNotFound)
	}
	if state != keeper.Live {
		return nil // it does not run any more
	}
	if s == sandbox.Kill {
		err = a.launcher.kill(ctx, a.id)
	} else {
		err = a.launcher.runsc().Signal(ctx, a.id, a.launcher.boxes.Path(a.id), s)
	}
	if err == nil {
		return nil
	}
	if state, stateErr := box.State(); stateErr != nil || state != keeper.Live {
		return nil //nolint:nilerr // it has ended, or was removed, meanwhile
	}
	return fmt.Errorf("signal sandbox %s: %w", a.id, err)
}

func (a *attachment) Wait(ctx context.Context) (sandbox.Exit, error) { return a.ended.Wait(ctx) }

func (a *attachment) Close() error {
	a.close()
	err := a.line.Close() // what is being read is of no use to anybody
	a.tasks.Wait()
	a.launcher.attached.Drop(a)
	return err
}

// agentInput is the agent's standard input.
type agentInput struct{ a *attachment }

func (i agentInput) Write(p []byte) (int, error) {
	if !i.a.stdin || i.a.holds.Load() || i.a.open.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	if err := i.a.line.Input(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close is the end of the agent's input. Before the release there is none, and init waits there.
func (i agentInput) Close() error {
	if !i.a.stdin || i.a.holds.Load() || i.a.open.Err() != nil {
		return nil //nolint:nilerr // closing the attachment has closed it
	}
	return i.a.line.Shut()
}
