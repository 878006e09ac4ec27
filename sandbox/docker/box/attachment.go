package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/output"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local"
)

// attachment follows one sandbox with two goroutines: one reads its output, the other waits for its end.
type attachment struct {
	reach  *Reach
	handle sandbox.Handle
	box    *Box
	output *output.Reader
	rest   processes.Remains // the kernel kills these processes if the engine does not
	first  bool              // has the stream from Start, and may release the sandbox

	open  context.Context
	close context.CancelFunc
	tasks sync.WaitGroup

	ended *local.Ended
}

// newAttachment begins to follow a sandbox.
func (r *Reach) newAttachment(h sandbox.Handle, b *Box, reader *output.Reader, first bool) *attachment {
	a := &attachment{
		reach: r, handle: h, box: b, output: reader, rest: processes.RemainsOf(h.ID, b.UID, r.UIDs), first: first, ended: local.NewEnded(),
	}
	a.open, a.close = context.WithCancel(context.Background())
	r.attached.Add(a)
	a.tasks.Go(func() { a.output.Read(a.open, a.ended.Err) })
	a.tasks.Go(func() { a.await() })
	return a
}

// await waits for the sandbox's end, and then for the end of its output.
func (a *attachment) await() {
	defer a.reach.attached.Drop(a)
	a.ended.Set(a.awaitExit())
	a.output.Drain()
}

// awaitExit waits for the sandbox's end, from the host's look or from the engine's answer, whichever comes first.
func (a *attachment) awaitExit() (sandbox.Exit, error) {
	asking, cancel := context.WithCancel(a.open)
	defer cancel()
	looking, told := context.WithCancel(asking)
	answered := make(chan engineAnswer, 1)
	a.tasks.Go(func() {
		defer told()
		code, err := a.reach.Engine.Wait(asking, a.handle.ID, container.WaitConditionNotRunning)
		answered <- engineAnswer{code, err}
	})
	select {
	case answer := <-answered:
		return a.exitOf(answer)
	case end := <-a.output.Told():
		if exit, seen := a.seeEnd(looking, end); seen {
			return exit, nil
		}
		return a.exitOf(<-answered)
	}
}

// engineAnswer is the engine's answer to a wait: the container's exit code.
type engineAnswer struct {
	code int
	err  error
}

// exitOf asks the engine for details of the end that it told.
func (a *attachment) exitOf(told engineAnswer) (sandbox.Exit, error) {
	if a.isClosed() {
		return sandbox.Exit{}, local.ErrClosed
	}
	if told.err != nil {
		return sandbox.Exit{}, a.reach.Identity.Wrap(told.err, "wait for", a.handle)
	}
	if seen := a.box.exit.Load(); seen != nil {
		return *seen, nil
	}
	found, err := a.reach.Engine.Inspect(a.open, a.handle.ID)
	switch {
	case engine.IsGone(err) && told.code == killedCode && !a.box.killed.Load():
		return sandbox.Exit{}, a.reach.Identity.Wrap(err, "look at", a.handle) // somebody else removed it, and its processes
	case engine.IsGone(err):
		return exitWith(told.code), nil // removed since
	case a.isClosed():
		return sandbox.Exit{}, local.ErrClosed
	case err != nil:
		return sandbox.Exit{}, a.reach.Identity.Wrap(err, "look at", a.handle)
	}
	exit := exitFrom(found.State)
	if exit.OutOfMemory || exit.Code != killedCode || a.box.killed.Load() {
		return a.box.ended(exit), nil
	}
	return a.whoKilled(exit)
}

// whoKilled looks again if the agent was ended by a KILL that we did not send. There are two causes. Memory may have
// ended it: the engine notes this in the container's state only if that news overtakes the end itself, and on a busy
// machine one time in a hundred it does not. Or a person removed the container by force: then the engine killed it
// first, and not only the agent but the whole container was ended.
func (a *attachment) whoKilled(exit sandbox.Exit) (sandbox.Exit, error) {
	patient, cancel := context.WithTimeout(a.open, oomPatience)
	defer cancel()
	exit.OutOfMemory = a.reach.Engine.RanOutOfMemory(patient, a.handle.ID, exit.StartedAt)
	if exit.OutOfMemory {
		return exit, nil
	}
	if _, err := a.reach.Engine.Inspect(a.open, a.handle.ID); engine.IsGone(err) && !a.box.killed.Load() {
		return sandbox.Exit{}, a.reach.Identity.Wrap(err, "look at", a.handle)
	}
	return exit, nil
}

// oomPatience bounds how much later than the end the news of memory may come. Only after a KILL that this watcher did
// not send does anything wait for it.
const oomPatience = 2 * time.Second

// killedCode is the exit code of an agent that a KILL ended.
const killedCode = 128 + 9

func (a *attachment) isClosed() bool { return a.open.Err() != nil }

func (a *attachment) Output() <-chan sandbox.Chunk { return a.output.Chunks() }
func (a *attachment) Input() io.WriteCloser        { return agentInput{a} }

// signalNames maps signals to the engine's names for them.
var signalNames = map[sandbox.Signal]string{
	sandbox.Interrupt: "SIGINT", sandbox.Terminate: "SIGTERM", sandbox.Kill: "SIGKILL",
}

// Signal sends a signal to init, which passes INT and TERM on to the agent. After KILL the kernel ends every process in
// init's namespace.
func (a *attachment) Signal(ctx context.Context, s sandbox.Signal) error {
	name, ok := signalNames[s]
	if !ok {
		return fmt.Errorf("a sandbox cannot get signal %q", s)
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
		return a.reach.Identity.Gone("signal", a.handle)
	}
	return fmt.Errorf("signal container %s: %w", a.handle.ID, err)
}

// answerTime bounds how long the engine may take for a KILL, and for an attachment to an input in the middle of a
// write.
const answerTime = 5 * time.Second

// signal has the engine send a signal. If the engine does not answer a KILL, signal has the kernel kill all processes
// of the container's control group, as far as they can be seen here (I20). The engine tells how the container ended
// when it is back.
func (a *attachment) signal(ctx context.Context, s sandbox.Signal, name string) error {
	if s != sandbox.Kill {
		return a.reach.Engine.Kill(ctx, a.handle.ID, name)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := a.reach.Engine.Kill(ctx, a.handle.ID, name)
	if err == nil || engine.IsConflict(err) || engine.IsGone(err) {
		return err
	}
	found, cannot := a.rest.Kill()
	if found == 0 {
		return errors.Join(err, cannot)
	}
	a.reach.Log.Warn("the engine does not answer; the watcher kills a container's processes without it",
		"container", a.handle.ID, "processes", found, "error", err)
	return cannot
}

func (a *attachment) Wait(ctx context.Context) (sandbox.Exit, error) { return a.ended.Wait(ctx) }

// Close lets go of a sandbox. If the sandbox is in its hold, this is final: its init ends with its input.
func (a *attachment) Close() error {
	if a.first {
		a.box.abandon()
	}
	a.close()
	a.output.Close() // nobody needs the rest of the output
	a.tasks.Wait()
	return nil
}
