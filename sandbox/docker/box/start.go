package box

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// Start lets init begin, and hold. The output is attached to before that, so that its first byte is not missed. tried says whether init
// may have begun.
func (r *Reach) Start(ctx context.Context, h sandbox.Handle, b *Box) (tried bool, err error) {
	ctx, done := r.startContext(ctx)
	defer done()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh {
		if begun, err := r.hasBegun(ctx, h, b); begun || err != nil {
			return false, err
		}
	}
	return true, r.startAttached(ctx, h, b)
}

// hasBegun says whether a container is started already, and refuses one of which that cannot be known. The lock of b is held.
func (r *Reach) hasBegun(ctx context.Context, h sandbox.Handle, b *Box) (bool, error) {
	found, err := r.Look(ctx, h)
	if err != nil {
		return false, err
	}
	if found.State.Status != container.StateCreated {
		return true, r.Identity.Recognise(ctx) // a container that ended would run again
	}
	if b.spoiled { // the engine may close init's input when it notices that the earlier connection has ended
		return false, fmt.Errorf("start container %s, to whose input somebody was attached before: %w", h.ID, sandbox.ErrUncertain)
	}
	if !names.Holds(found.Config.Labels) {
		return false, fmt.Errorf("start container %s, whose init does not hold: %w", h.ID, sandbox.ErrUncertain)
	}
	return false, r.proveUnstarted(ctx, h, found.Created)
}

// startAttached attaches and starts. The lock of b is held. Where the engine cannot start it because somebody has removed
// init from the engine meanwhile, that is brought back first. While that takes its time, the engine is recognised: the handle names it
// and after the release that must be true.
func (r *Reach) startAttached(ctx context.Context, h sandbox.Handle, b *Box) error {
	proved := make(chan error, 1)
	go func() { proved <- r.Identity.Recognise(ctx) }()
	err := r.attachAndStart(ctx, h, b)
	if r.lacksInit(ctx, err) {
		err = r.attachAndStart(ctx, h, b)
	}
	if err != nil {
		return r.Identity.Wrap(err, "start", h)
	}
	if err = <-proved; errors.Is(err, sandbox.ErrOtherSite) {
		b.dropStreams() // its init ends with its hold
	}
	return err
}

// attachAndStart gives standard input a connection of its own, because the engine closes init's when that connection
// ends, and the output's may end earlier.
func (r *Reach) attachAndStart(ctx context.Context, h sandbox.Handle, b *Box) (err error) {
	if b.live, err = r.attach(ctx, h, container.AttachOptions{Stream: true, Stdout: true, Stderr: true}); err != nil {
		return err
	}
	if b.input, err = r.attach(ctx, h, container.AttachOptions{Stream: true, Stdin: true}); err == nil {
		calling, cancel := local.StepContext(ctx)
		defer cancel()
		calling, done := r.startContext(calling)
		defer done()
		b.fresh, b.held = false, true // even a call that failed may have started it
		if err = r.Engine.Start(calling, h.ID); err != nil {
			b.doubted.Store(true)
			b.spoiled = true
		}
		b.started = time.Now()
	}
	if err != nil {
		b.dropStreams()
	}
	return err
}

func (r *Reach) attach(ctx context.Context, h sandbox.Handle, o container.AttachOptions) (*types.HijackedResponse, error) {
	stream, err := r.Engine.Attach(ctx, h.ID, o)
	if err == nil {
		return &stream, nil
	}
	if _, gone := r.Look(ctx, h); gone != nil {
		return nil, gone // the client does not tell why it could not attach
	}
	return nil, engine.Away(fmt.Errorf("attach: %w", err))
}

// takeInput attaches to an agent's standard input that lasts, once more: the connection of an earlier attachment may be broken, or was
// another process's. Where that fails the sandbox may have ended, which the next call says. Otherwise the next write tries again.
func (r *Reach) takeInput(ctx context.Context, h sandbox.Handle, b *Box, made *container.Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if made.StdinOnce || b.held {
		return
	}
	b.lasting = true
	if b.input != nil {
		b.input.Close()
	}
	b.input, _ = r.attach(ctx, h, container.AttachOptions{Stream: true, Stdin: true})
}

// proveUnstarted makes sure that a container of which the engine says so was indeed never started: the engine that made it
// still lives, and would know. See package processes.
func (r *Reach) proveUnstarted(ctx context.Context, h sandbox.Handle, created string) error {
	knows, err := r.Engine.RemembersCreating(ctx, h.ID, engine.Time(created))
	if err != nil {
		return r.Identity.Wrap(err, "ask about", h)
	}
	if !knows {
		return fmt.Errorf("start container %s: the engine has forgotten what it did with it: %w", h.ID, sandbox.ErrUncertain)
	}
	return nil
}

// lacksInit says whether a start may have failed because init was missing, which it is not any more.
func (r *Reach) lacksInit(ctx context.Context, err error) bool {
	if err == nil || engine.IsGone(err) || errors.Is(err, sandbox.ErrNotFound) || errors.Is(engine.Away(err), sandbox.ErrUnavailable) {
		return false
	}
	missing, err := r.Restore(ctx)
	return err == nil && missing
}

// startContext is ctx, and ends with the launcher, too.
func (r *Reach) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.Life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
