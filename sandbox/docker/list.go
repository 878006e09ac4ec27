package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
)

// List is every sandbox of this installation that has a container.
func (l *Launcher) List(ctx context.Context) ([]sandbox.Handle, error) {
	l.undoRest()
	found, err := l.engine.list(ctx, l.names.filter())
	if err != nil {
		return nil, away(fmt.Errorf("list containers: %w", err))
	}
	var all []sandbox.Handle
	for _, c := range found {
		if !l.names.isSandbox(c.Labels) {
			continue
		}
		h, err := l.names.handle(c.ID, c.Labels)
		if err != nil {
			return nil, err
		}
		h.State = stateOf(c.State)
		if h.State == sandbox.HandleExited {
			if h.Exit, err = l.exitOf(ctx, h); errors.Is(err, sandbox.ErrNotFound) {
				continue // it was being removed
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// stateOf is the engine's state in our words. What is paused has not ended, and what is half removed has.
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

// exitOf asks how a container ended.
func (l *Launcher) exitOf(ctx context.Context, h sandbox.Handle) (*sandbox.Exit, error) {
	found, err := l.engine.inspect(ctx, h.ID)
	if err != nil {
		return nil, l.wrap(err, "look at", h)
	}
	exit := exitFrom(found.State)
	return &exit, nil
}

// exitFrom reads a container's state. What it used at most the engine does not keep.
func exitFrom(state *container.State) sandbox.Exit {
	exit := exitWith(state.ExitCode)
	exit.OutOfMemory = state.OOMKilled
	exit.StartedAt, exit.FinishedAt = engineTime(state.StartedAt), engineTime(state.FinishedAt)
	if exit.StartedAt.After(exit.FinishedAt) {
		exit.StartedAt = exit.FinishedAt // the engine notes the start when its call returns; a quick agent has ended by then
	}
	return exit
}

// exitWith is an end with init's exit code, as the engine says it.
func exitWith(init int) sandbox.Exit {
	code, known := runfile.AgentExit(init)
	return sandbox.Exit{Code: code, Unknown: !known}
}

// engineTime is a time as the engine writes it, or the zero time.
func engineTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
