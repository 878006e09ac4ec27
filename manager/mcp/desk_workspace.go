package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"

	"torno/manager"
)

// Spawn starts a child like Start, but goes on in the workspace of a subagent that has been here before and has ended.
func (d *Desk) Spawn(ctx context.Context, task Task) (Begun, error) {
	return d.begin(ctx, task, func(ctx context.Context, o manager.SpawnOptions) (*manager.Run, error) {
		o = task.options(o)
		if task.Fill == nil || task.Workspace != "" {
			return d.s.m.Spawn(ctx, o)
		}
		o.Fill = func(ctx context.Context, w manager.NewWorkspace) error { return task.Fill(ctx, w.Root) }
		run, err := d.s.m.Spawn(ctx, o)
		if !errors.Is(err, manager.ErrWorkspaceThere) {
			return run, err
		}
		if err := d.fillAgain(ctx, task); err != nil {
			return nil, err
		}
		o.Fill = nil
		return d.s.m.Spawn(ctx, o)
	})
}

// fillAgain fills a workspace that a run has left. While a run is still in it, the outbox has its request, and the
// error is manager.ErrOutstanding.
func (d *Desk) fillAgain(ctx context.Context, task Task) error {
	if item, there := d.s.m.Find(task.ID); there {
		return fmt.Errorf("subagent %s: %w", item.SubagentID, manager.ErrOutstanding)
	}
	root, _, err := d.s.m.OpenWorkspace(task.ID)
	if err != nil {
		return err
	}
	defer root.Close()
	return task.Fill(ctx, root)
}

// Allowed checks whether one more child is within the budgets, for a set that has children elsewhere.
func (d *Desk) Allowed(ctx context.Context) error {
	_, leave, err := d.s.budgets.enter(ctx, d.s, 1)
	if err == nil {
		leave()
	}
	return err
}

// OpenWorkspace opens the workspace of a child and returns its path, even if the child's result was taken.
func (d *Desk) OpenWorkspace(id string) (*os.Root, string, error) { return d.s.m.OpenWorkspace(id) }

// Outbox returns the path of the outbox.
func (d *Desk) Outbox() string { return d.s.m.Outbox() }
