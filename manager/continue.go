package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"torno/delegation"
)

// ErrRunning says that a subagent cannot continue its conversation, because its run has not ended.
var ErrRunning = errors.New("the subagent is still running")

// Continue lets a subagent go on with its conversation, in its workspace and with its profile, in a new sandbox. Only
// ID and Task are required. Missing options come from the subagent's last run, as far as it is known here; a missing
// session becomes the last one that the host has kept of the subagent. The run before must have ended, and either its
// result has been taken or Replace is set. The error is ErrNoRun if the profile has no agent and the subagent no workspace.
func (m *Manager) Continue(ctx context.Context, o SpawnOptions) (*Run, error) {
	id, err := parseID(o.ID)
	if err != nil {
		return nil, err
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
	named := o.SessionID != ""
	if !named {
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
	// Without an agent the host keeps no session, so the workspace is all that the subagent can go on with.
	if offer, ok := offered(beat, o.Profile); ok && offer.Agent == "" && o.Workspace == "" && !named {
		if err := m.checkWorkspace(o.ID); err != nil {
			return nil, err
		}
	}
	return m.Spawn(ctx, o)
}

// checkWorkspace returns ErrNoRun if a subagent has no workspace.
func (m *Manager) checkWorkspace(id string) error {
	root, _, err := m.OpenWorkspace(id)
	if err != nil {
		return err
	}
	return root.Close()
}

// lastOf returns the client's knowledge of a subagent's last ended run, or a zero Result if there is none.
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
	// A request that was refused early has a response without a profile.
	return Result{SessionID: response.SessionID, Profile: cmp.Or(response.Profile, run.profile), Workspace: run.workspace}, nil
}
