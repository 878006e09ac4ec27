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

// Start lets init begin, and hold. It attaches to the output before that, so that the first byte is not missed. tried
// reports whether init may have begun in this call.
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

// hasBegun reports whether a container was started already. If that cannot be known, it refuses. The lock of b is held.
func (r *Reach) hasBegun(ctx context.Context, h sandbox.Handle, b *Box) (bool, error) {
	found, err := r.Look(ctx, h)
	if err != nil {
		return false, err
	}
	if found.State.Status != container.StateCreated {
		return true, r.Identity.Recognise(ctx) // do not start: a container that has ended would run again
	}
	if b.spoiled { // the engine may still close init's input, when it notices the end of the earlier connection
		return false, fmt.Errorf("start container %s, whose input had a connection before: %w", h.ID, sandbox.ErrUncertain)
	}
	if !names.Holds(found.Config.Labels) {
		return false, fmt.Errorf("start container %s, whose init does not hold: %w", h.ID, sandbox.ErrUncertain)
	}
	return false, r.proveUnstarted(ctx, h, found.Created)
}

// startAttached attaches and starts. The lock of b is held. If the start fails because somebody has removed init from
// the engine, it brings init back and tries again. While the start takes its time, it also recognises the engine: the
// handle names an engine, and this must be true after the release.
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
		b.dropStreams() // init ends with its hold
	}
	return err
}

// attachAndStart gives standard input a connection of its own, because the engine closes init's input when that
// connection ends, and the output's connection may end earlier.
func (r *Reach) attachAndStart(ctx context.Context, h sandbox.Handle, b *Box) (err error) {
	if b.live, err = r.attach(ctx, h, container.AttachOptions{Stream: true, Stdout: true, Stderr: true}); err != nil {
		return err
	}
	if b.input, err = r.attach(ctx, h, container.AttachOptions{Stream: true, Stdin: true}); err == nil {
		calling, cancel := local.StepContext(ctx)
		defer cancel()
		calling, done := r.startContext(calling)
		defer done()
		b.fresh, b.held = false, true // even a failed call may have started it
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

// takeInput attaches anew to a lasting standard input. The connection of an earlier attachment may be broken, or
// belonged to another process. If it fails, the sandbox may have ended, which the next call reports; otherwise the next
// write tries again.
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

// proveUnstarted makes sure that a container was indeed never started, when its engine says so. It checks that the same
// engine process still lives that made the container: only this process would know of a start. See package processes.
func (r *Reach) proveUnstarted(ctx context.Context, h sandbox.Handle, created string) error {
	knows, err := r.Engine.RemembersCreating(ctx, h.ID, engine.Time(created))
	if err != nil {
		return r.Identity.Wrap(err, "ask about", h)
	}
	if !knows {
		return fmt.Errorf("start container %s: the engine has forgotten whether it started it: %w", h.ID, sandbox.ErrUncertain)
	}
	return nil
}

// lacksInit reports whether a start may have failed because init was missing. If it was, lacksInit has brought it back.
func (r *Reach) lacksInit(ctx context.Context, err error) bool {
	if err == nil || engine.IsGone(err) || errors.Is(err, sandbox.ErrNotFound) || errors.Is(engine.Away(err), sandbox.ErrUnavailable) {
		return false
	}
	missing, err := r.Restore(ctx)
	return err == nil && missing
}

// startContext returns ctx, but it also ends with the launcher.
func (r *Reach) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.Life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
