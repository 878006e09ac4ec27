package manager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"torno/delegation"
)

// ErrRunning says that a subagent cannot go on with its conversation while it is still at it.
var ErrRunning = errors.New("the subagent still runs")

// Continue has a subagent go on: with its conversation, in its workspace and with its profile, in a new sandbox. Only ID and Task are
// required. What the options leave out is taken from the subagent's last run, where that is known here, and the session is otherwise the
// last one that the host has kept of it. The run before must have ended, and its result be taken, or Replace be set.
func (m *Manager) Continue(ctx context.Context, o SpawnOptions) (*Run, error) {
	id, err := delegation.ParseSubagentID(o.ID)
	if err != nil {
		return nil, refuse(delegation.CodeBadID, "subagent_id", "%v", err)
	}
	beat, err := m.served(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(beat.Features, delegation.FeatureSessions) {
		refusal := refuse(delegation.CodeSession, "session_id", "the watcher of this outbox keeps no sessions")
		refusal.Hint = "spawn the subagent again with the same id: its workspace is still there"
		return nil, refusal
	}
	last, err := m.lastOf(id)
	if err != nil {
		return nil, err
	}
	if o.SessionID == "" {
		o.SessionID = delegation.SessionLast
		if last.SessionID != "" {
			o.SessionID = last.SessionID
		}
	}
	if o.Profile == "" {
		o.Profile = last.Profile
	}
	if last.Original != "" {
		last.Workspace = last.Original // the host knows that the subagent has a copy of it
	}
	if o.Workspace == "" && last.Workspace != filepath.Join(m.Outbox(), Workspaces, o.ID) {
		o.Workspace = last.Workspace
	}
	o.Fill = nil
	return m.Spawn(ctx, o)
}

// lastOf is what is known here of the last run of a subagent that has ended, zero where nothing is.
func (m *Manager) lastOf(id delegation.SubagentID) (Result, error) {
	run, err := m.Attach(id.String())
	if _, taken := errors.AsType[*TakenError](err); taken {
		return m.copyOf(id)
	}
	if errors.Is(err, ErrNoRun) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	response, err := run.response()
	if err != nil {
		return Result{}, err
	}
	if response == nil {
		return Result{}, fmt.Errorf("subagent %s: %w", id, ErrRunning)
	}
	return Result{SessionID: response.SessionID, Profile: response.Profile, Workspace: run.workspace}, nil
}
