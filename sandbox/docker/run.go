package docker

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

// Start lets init begin, and hold. The output is attached to before that, so that its first byte is not missed.
func (l *Launcher) Start(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.identity.Name()); err != nil {
		return err
	}
	ctx, done := l.startContext(ctx)
	defer done()
	b := l.known(h.ID)
	if b == nil {
		b = &box{id: h.Sandbox} // from an earlier life
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh {
		found, err := l.look(ctx, h)
		if err != nil {
			return err
		}
		if found.State.Status != container.StateCreated {
			return l.identity.Recognise(ctx) // a container that ended would run again
		}
		if b.spoiled { // the engine may close init's input when it notices that the earlier connection has ended
			return fmt.Errorf("start container %s, to whose input somebody was attached before: %w", h.ID, sandbox.ErrUncertain)
		}
		if !names.Holds(found.Config.Labels) {
			return fmt.Errorf("start container %s, whose init does not hold: %w", h.ID, sandbox.ErrUncertain)
		}
		if err := l.proveUnstarted(ctx, h, found.Created); err != nil {
			return err
		}
	}
	return l.startAttached(ctx, h, b)
}

// startAttached attaches and starts. The lock of b is held. Where the engine cannot start it because somebody has removed
// init from the engine meanwhile, that is brought back first. While that takes its time, the engine is recognised: the handle names it
// and after the release that must be true.
func (l *Launcher) startAttached(ctx context.Context, h sandbox.Handle, b *box) error {
	proved := make(chan error, 1)
	go func() { proved <- l.identity.Recognise(ctx) }()
	err := l.attachAndStart(ctx, h, b)
	if l.lacksInit(ctx, err) {
		err = l.attachAndStart(ctx, h, b)
	}
	l.remember(h.ID, b)
	if err != nil {
		return l.identity.Wrap(err, "start", h)
	}
	if err = <-proved; errors.Is(err, sandbox.ErrOtherSite) {
		b.dropStreams() // its init ends with its hold
	}
	return err
}

// attachAndStart gives standard input a connection of its own, because the engine closes init's when that connection
// ends, and the output's may end earlier.
func (l *Launcher) attachAndStart(ctx context.Context, h sandbox.Handle, b *box) (err error) {
	if b.live, err = l.attach(ctx, h, container.AttachOptions{Stream: true, Stdout: true, Stderr: true}); err != nil {
		return err
	}
	if b.input, err = l.attach(ctx, h, container.AttachOptions{Stream: true, Stdin: true}); err == nil {
		calling, cancel := local.StepContext(ctx)
		defer cancel()
		calling, done := l.startContext(calling)
		defer done()
		b.fresh, b.held = false, true // even a call that failed may have started it
		if err = l.engine.Start(calling, h.ID); err != nil {
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

func (l *Launcher) attach(ctx context.Context, h sandbox.Handle, o container.AttachOptions) (*types.HijackedResponse, error) {
	stream, err := l.engine.Attach(ctx, h.ID, o)
	if err == nil {
		return &stream, nil
	}
	if _, gone := l.look(ctx, h); gone != nil {
		return nil, gone // the client does not tell why it could not attach
	}
	return nil, engine.Away(fmt.Errorf("attach: %w", err))
}

// look inspects a container, and makes sure that it is a sandbox of this installation (I14).
func (l *Launcher) look(ctx context.Context, h sandbox.Handle) (container.InspectResponse, error) {
	found, err := l.engine.Inspect(ctx, h.ID)
	if err != nil {
		return found, l.identity.Wrap(err, "look at", h)
	}
	if found.Config == nil || !l.names.IsSandbox(found.Config.Labels) {
		return found, fmt.Errorf("container %s is not this installation's: %w", h.ID, sandbox.ErrNotFound)
	}
	return found, nil
}

// proveUnstarted makes sure that a container of which the engine says so was indeed never started: the engine that made it
// still lives, and would know. See package processes.
func (l *Launcher) proveUnstarted(ctx context.Context, h sandbox.Handle, created string) error {
	knows, err := l.engine.RemembersCreating(ctx, h.ID, engine.Time(created))
	if err != nil {
		return l.identity.Wrap(err, "ask about", h)
	}
	if !knows {
		return fmt.Errorf("start container %s: the engine has forgotten what it did with it: %w", h.ID, sandbox.ErrUncertain)
	}
	return nil
}
