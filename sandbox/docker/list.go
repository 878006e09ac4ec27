package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
)

// lookTime bounds how long List waits for the engine to tell how all containers ended.
const lookTime = 10 * time.Second

// List returns every sandbox of this installation that has a container.
func (l *Launcher) List(ctx context.Context) ([]sandbox.Handle, error) {
	if err := l.identity.Prove(ctx); err != nil {
		return nil, err
	}
	l.failed.Retry()
	found, err := l.engine.List(ctx, l.names.Filter())
	if err != nil {
		return nil, engine.Away(fmt.Errorf("list containers: %w", err))
	}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var all []sandbox.Handle
	for _, c := range found {
		if !l.names.IsSandbox(c.Labels) {
			continue
		}
		h, err := l.listed(looking, c)
		switch {
		case errors.Is(err, sandbox.ErrNotFound):
			continue // it was being removed
		case ctx.Err() != nil, errors.Is(err, sandbox.ErrUnavailable) && looking.Err() == nil:
			return nil, err // nothing is known about any sandbox
		case err != nil:
			h.State = sandbox.HandleUncertain
			l.options.Log.Warn("a container cannot be looked at; the watcher leaves it alone", "container", c.ID, "sandbox", h.Sandbox, "error", err)
		}
		all = append(all, h)
	}
	// Prove before and after, so that another engine's list is never taken for this engine's.
	return all, l.identity.Prove(ctx)
}

// listed returns the sandbox of a container, as the engine lists it. Even with an error, the handle tells which sandbox
// it is.
func (l *Launcher) listed(ctx context.Context, c container.Summary) (sandbox.Handle, error) {
	h, err := l.names.Handle(c.ID, c.Labels)
	if err != nil {
		id, _ := l.names.SandboxOf(c.Labels)
		return sandbox.Handle{Launcher: names.Launcher, Site: l.identity.Name(), ID: c.ID, Sandbox: id}, err
	}
	h.Site, h.State = l.identity.Name(), stateOf(c.State)
	var seen *sandbox.Exit
	if b := l.known(c.ID); b != nil {
		seen = b.Exit()
	}
	if h.State == sandbox.HandleExited {
		h.Exit, err = l.reach.ExitOf(ctx, h)
	}
	if err == nil && seen != nil { // the engine may not know it yet
		h.State, h.Exit = sandbox.HandleExited, seen
	}
	return h, err
}

// stateOf translates the engine's state into ours. A paused container has not ended; a half removed one has.
func stateOf(state string) sandbox.HandleState {
	switch state {
	case container.StateCreated:
		return sandbox.HandleCreated
	case container.StateRunning, container.StatePaused, container.StateRestarting:
		return sandbox.HandleRunning
	default:
		return sandbox.HandleExited
	}
}
