package door

import (
	"context"
	"fmt"
	"path"

	"torno/internal/journal"
)

// Journal is what Forget asks about runs.
type Journal interface {
	Outboxes(context.Context) ([]journal.Outbox, error)
	Unfinished(ctx context.Context, after int64, limit int) ([]journal.Run, error)
}

// Forget has the gateway forget what runs of this journal have spent that are over. The journal has the next attempt of a run from
// the same moment on in which the one before has ended. So a run that the gateway names, and of which the journal then has no
// unfinished attempt, does not spend again; what it has spent is in its record. No clock is asked.
func (d *Doors) Forget(ctx context.Context, j Journal) error {
	for after := ""; ; {
		idle, err := d.gateway.IdleRuns(ctx, after)
		if err != nil {
			return fmt.Errorf("ask the model gateway what runs have spent: %w", err)
		}
		if len(idle) == 0 {
			return nil
		}
		after = idle[len(idle)-1]
		over, err := overOf(ctx, j, idle)
		if err != nil {
			return err
		}
		if len(over) == 0 {
			continue
		}
		if err := d.gateway.Forget(ctx, over); err != nil {
			return fmt.Errorf("have the model gateway forget what runs have spent: %w", err)
		}
	}
}

// overOf are those of some runs that are of an outbox of the journal's, and over. Others may be another watcher's.
func overOf(ctx context.Context, j Journal, runs []string) (over []string, err error) {
	outboxes, err := j.Outboxes(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{}
	for _, o := range outboxes {
		ours[o.ID] = true
	}
	goOn, err := unfinished(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if ours[path.Dir(run)] && !goOn[run] {
			over = append(over, run)
		}
	}
	return over, nil
}

// atOnce is how many records are in memory at once.
const atOnce = 256

// unfinished are the runs that have an attempt which has not ended, or is not answered.
func unfinished(ctx context.Context, j Journal) (map[string]bool, error) {
	all := map[string]bool{}
	for after := int64(0); ; {
		records, err := j.Unfinished(ctx, after, atOnce)
		if err != nil || len(records) == 0 {
			return all, err
		}
		for _, record := range records {
			all[runScope(record.RunKey()).ID] = true
		}
		after = records[len(records)-1].Seq
	}
}
