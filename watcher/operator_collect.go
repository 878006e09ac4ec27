package watcher

import (
	"context"
	"fmt"

	"torno/internal/control"
	"torno/watcher/collect"
)

// Collect implements control.Service.
func (o *Operator) Collect(ctx context.Context, ask control.Collect) ([]control.Workspace, error) {
	w := o.Watcher
	if w == nil {
		return nil, control.ErrNoWatcher
	}
	if err := w.awaitLook(ctx); err != nil {
		return nil, err
	}
	id, err := o.outboxID(ctx, ask.Outbox)
	if err != nil {
		return nil, err
	}
	found, err := w.kept.Look(ctx, id, collect.Ask{DryRun: ask.DryRun, Age: ask.Age})
	var all []control.Workspace
	for _, f := range found {
		all = append(all, control.Workspace{
			Outbox: f.Name, Subagent: f.Subagent.String(), Made: f.Made, Used: f.Used, Bytes: f.Disk(), Over: f.Over, Kept: f.Kept, Removed: f.Gone,
		})
	}
	return all, err
}

// outboxID returns the id of a served outbox, given its name or its id; "" stands for all outboxes.
func (o *Operator) outboxID(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	known, err := o.Journal.Outboxes(ctx)
	if err != nil {
		return "", err
	}
	id := idOf(known, name)
	if o.Watcher.boxOf(id) == nil {
		return "", fmt.Errorf("%w: %q", control.ErrNoOutbox, name)
	}
	return id, nil
}
