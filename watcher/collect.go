package watcher

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"torno/delegation"
	"torno/internal/paths"
	"torno/sandbox/compile"
	"torno/watcher/collect"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// newCollector returns the collector of old workspaces. It covers only outboxes that lie in their own directories.
func (w *Watcher) newCollector() *collect.Collector {
	ports := collect.Ports{Journal: w.journal, Take: w.takeWorkspace, Reads: w.isRead, Open: w.config.Workspaces, Hangs: w.hangs, Now: w.config.Now, Log: w.log}
	if w.config.Sessions != nil {
		ports.GoesOn = w.config.Sessions.Keeps
	}
	return collect.New(ports, w.collected, w.config.Collect)
}

// collected returns the outboxes whose workspaces may be collected.
func (w *Watcher) collected() (all []collect.Outbox) {
	for _, box := range w.boxes {
		if box.InOwnDirectory() {
			all = append(all, collect.Outbox{ID: box.ID, Name: box.Name, Dir: box.Dir})
		}
	}
	return all
}

// takeWorkspace reserves a subagent's workspace, so that no run uses it meanwhile. It finds the workspace as a run of
// the subagent would, with the same checks.
func (w *Watcher) takeWorkspace(ctx context.Context, o collect.Outbox, id delegation.SubagentID) (release func(), err error) {
	request, err := delegation.ParseRequestID("collect")
	if err != nil {
		return nil, err
	}
	spec, _, err := compile.Compile(delegation.Request{
		SubagentID: id, RequestID: request, Task: "-", Workspace: filepath.Join(collect.Place, id.String()), TimeoutSeconds: 1,
	}, w.boxOf(o.ID).Settings.Policy)
	if err != nil {
		return nil, err
	}
	held, err := workspace.Open(ctx, w.hangs, w.config.Workspaces, spec)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	ticket := &schedule.Ticket{Lane: o.Name, Subject: schedule.Subject{Outbox: o.ID, Subagent: id}, Above: held.AboveThen, Anywhere: len(held.AboveThen) == 0}
	if ticket.Anywhere {
		return nil, errors.New("the watcher cannot find out which directories lie above it")
	}
	if !w.schedule.Take(ctx, ticket) {
		return nil, collect.ErrInUse
	}
	return func() { w.schedule.Finished(w.life, ticket) }, nil
}

// isRead reports whether an unfinished run may read at path, above it or below it.
func (w *Watcher) isRead(path string) bool {
	return slices.ContainsFunc(w.runs.Reads(), func(reads string) bool { return paths.Nested(reads, path) })
}
