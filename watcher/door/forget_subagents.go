package door

import (
	"context"
	"fmt"
	"path"

	"torno/delegation"
	"torno/internal/gateway"
)

// ForgetSubagents has the gateway forget how much this journal's subagents have spent, once the journal has no run of
// them any more: the journal's retention bounds these accounts, too. If goesOn is true for a subagent, its account
// stays. The gateway is asked before the journal, and it keeps the account of a subagent that has spent something
// since.
func (d *Doors) ForgetSubagents(ctx context.Context, j Journal, goesOn func(outbox string, id delegation.SubagentID) bool) error {
	ours, err := outboxesOf(ctx, j)
	if err != nil {
		return err
	}
	for after := ""; ; {
		idle, err := d.gateway.IdleSubagents(ctx, after)
		if err != nil {
			return fmt.Errorf("ask the model gateway for the spending of subagents: %w", err)
		}
		if len(idle) == 0 {
			return nil
		}
		after = idle[len(idle)-1].ID
		var gone []gateway.Idle
		for _, s := range idle {
			outbox, name := path.Split(s.ID)
			outbox = path.Clean(outbox)
			id, err := delegation.ParseSubagentID(name)
			if err != nil || !ours[outbox] || goesOn(outbox, id) {
				continue
			}
			_, known, err := j.Latest(ctx, outbox, id)
			if err != nil {
				return err
			}
			if !known {
				gone = append(gone, s)
			}
		}
		if len(gone) == 0 {
			continue
		}
		if err := d.gateway.ForgetSubagents(ctx, gone); err != nil {
			return fmt.Errorf("have the model gateway forget the spending of subagents: %w", err)
		}
	}
}

// outboxesOf returns the ids of a journal's outboxes.
func outboxesOf(ctx context.Context, j Journal) (map[string]bool, error) {
	outboxes, err := j.Outboxes(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	for _, o := range outboxes {
		ours[o.ID] = true
	}
	return ours, nil
}
