package box

import (
	"context"

	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
)

// ExitOf asks how a container ended.
func (r *Reach) ExitOf(ctx context.Context, h sandbox.Handle) (*sandbox.Exit, error) {
	found, err := r.Engine.Inspect(ctx, h.ID)
	if err != nil {
		return nil, r.Identity.Wrap(err, "look at", h)
	}
	exit := exitFrom(found.State)
	return &exit, nil
}

// exitFrom reads a container's state. What it used at most the engine does not keep.
func exitFrom(state *container.State) sandbox.Exit {
	exit := exitWith(state.ExitCode)
	exit.OutOfMemory = state.OOMKilled
	exit.StartedAt, exit.FinishedAt = engine.Time(state.StartedAt), engine.Time(state.FinishedAt)
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
