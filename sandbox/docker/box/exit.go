package box

import (
	"context"

	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
)

// ExitOf asks the engine how a container ended.
func (r *Reach) ExitOf(ctx context.Context, h sandbox.Handle) (*sandbox.Exit, error) {
	found, err := r.Engine.Inspect(ctx, h.ID)
	if err != nil {
		return nil, r.Identity.Wrap(err, "look at", h)
	}
	exit := exitFrom(found.State)
	return &exit, nil
}

// exitFrom reads an end from a container's state. It has no peak usage, because the engine does not keep it.
func exitFrom(state *container.State) sandbox.Exit {
	exit := exitWith(state.ExitCode)
	exit.OutOfMemory = state.OOMKilled
	exit.StartedAt, exit.FinishedAt = engine.Time(state.StartedAt), engine.Time(state.FinishedAt)
	if exit.StartedAt.After(exit.FinishedAt) {
		exit.StartedAt = exit.FinishedAt // the engine notes the start when its call returns; a quick agent has ended by then
	}
	return exit
}

// exitWith turns init's exit code, as the engine tells it, into an end.
func exitWith(init int) sandbox.Exit {
	code, known := runfile.AgentExit(init)
	return sandbox.Exit{Code: code, Unknown: !known}
}
