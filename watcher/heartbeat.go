package watcher

import (
	"context"
	"time"

	"torno/delegation"
	"torno/sandbox/compile"
	"torno/watcher/outbox"
)

// beatEvery is the interval between two writes of watcher.json. A client calls the watcher dead after three missed
// beats.
const beatEvery = 5 * time.Second

// positionsEvery is the interval at which the watcher tells waiting clients their place in the queue.
const positionsEvery = 500 * time.Millisecond

// heartbeatOf returns a function that builds the outbox's watcher.json. taking is done when the watcher takes no more
// requests.
func (w *Watcher) heartbeatOf(taking context.Context, box *outbox.Outbox) func(bool) delegation.Heartbeat {
	h := delegation.Heartbeat{
		Version: delegation.Version, Protocol: delegation.Version, Watcher: w.config.Version, Outbox: box.Name, OutboxID: box.ID, Installation: w.journal.Installation(),
		StartedAt: w.born.UTC(), HeartbeatSeconds: int(beatEvery / time.Second),
		Features: []string{delegation.FeatureStatus, delegation.FeatureEvents, delegation.FeatureProfiles, delegation.FeatureContext, delegation.FeatureCancel, delegation.FeatureInput, delegation.FeatureTree, delegation.FeatureApprovals, delegation.FeatureSettings},
		Limits: delegation.WireLimits{
			RequestBytes: box.Settings.MaxRequestBytes, Queue: box.Settings.Queue,
			Running: min(box.Settings.MaxRunning, w.config.MaxRunning), Children: box.Settings.Tree.Children, Depth: box.Settings.Tree.Depth,
		},
	}
	if w.config.Sessions != nil {
		h.Features = append(h.Features, delegation.FeatureSessions)
	}
	for i, p := range box.Settings.Policy.Profiles {
		if i == 0 {
			h.Limits.MaxTimeoutSeconds = int(p.Timeout.Max / time.Second)
		}
		h.Profiles = append(h.Profiles, delegation.ProfileOffer{
			Name: p.Name, Description: p.Description, Launcher: p.Sandbox, Chosen: p.Chosen, Agent: p.Agent, Model: p.Model, Input: p.Hears(),
			Approvals: p.Approvals != nil, Workspace: offered(p.Workspace),
			TimeoutSeconds: int(p.Timeout.Default / time.Second), MaxTimeoutSeconds: int(p.Timeout.Max / time.Second),
		})
	}
	h.Workspaces, h.Context = box.Settings.Policy.Views()
	return func(stopping bool) delegation.Heartbeat {
		now := h
		now.BeatAt = time.Now().UTC()
		now.Stopping, now.Stopped = stopping || taking.Err() != nil, stopping
		now.Running, now.Queued = w.schedule.Load(w.life, box.Name)
		now.Notices = w.notices.Of(box.Name)
		return now
	}
}

func (w *Watcher) showPositions(ctx context.Context) {
	ticker := time.NewTicker(positionsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.schedule.ShowPositions(ctx)
		}
	}
}

// offered returns the workspace mode that a client should know of, or "" if children work in the directory that the
// request names.
func offered(mode compile.WorkspaceMode) string {
	if mode == compile.WorkspaceCopy {
		return delegation.WorkspaceCopy
	}
	return ""
}
