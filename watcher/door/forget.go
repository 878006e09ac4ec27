package door

import (
	"context"
	"errors"
	"fmt"
	"path"

	"torno/delegation"
	"torno/internal/gateway/budget"
	"torno/internal/journal"
)

// Journal answers Forget's questions about runs, and takes notes of their spending.
type Journal interface {
	Outboxes(context.Context) ([]journal.Outbox, error)
	Unfinished(ctx context.Context, after int64, limit int) ([]journal.Run, error)
	Get(ctx context.Context, key string) (journal.Run, error)
	Attempts(ctx context.Context, outbox string, subagent delegation.SubagentID, request delegation.RequestID) (int, error)
	NoteUsage(ctx context.Context, key string, used delegation.Usage) error
	Latest(ctx context.Context, outbox string, subagent delegation.SubagentID) (journal.Run, bool, error)
}

// Forget has the gateway forget the spending of this journal's runs that are over. When an attempt ends and another
// follows, the journal has both changes at the same moment. So if the gateway names a run, and afterwards the journal
// has no unfinished attempt of it, the run does not spend again. Its spending is in its record, or Forget notes it
// there first: if the gateway did not answer at the run's end, the run was answered without it. No clock is asked.
func (d *Doors) Forget(ctx context.Context, j Journal) error {
	var unnoted error
	for after := ""; ; {
		idle, err := d.gateway.IdleRuns(ctx, after)
		if err != nil {
			return errors.Join(unnoted, fmt.Errorf("ask the model gateway for the spending of runs: %w", err))
		}
		if len(idle) == 0 {
			return unnoted
		}
		after = idle[len(idle)-1]
		over, err := overOf(ctx, j, idle)
		if err != nil {
			return errors.Join(unnoted, err)
		}
		known, err := d.noteSpent(ctx, j, over)
		unnoted = errors.Join(unnoted, err) // these stay with the gateway, and hold no other run up
		if len(known) == 0 {
			continue
		}
		if err := d.gateway.Forget(ctx, known); err != nil {
			return errors.Join(unnoted, fmt.Errorf("have the model gateway forget the spending of runs: %w", err))
		}
	}
}

// noteSpent notes the spending of runs in their records, if it is missing there. It returns the runs whose records have
// it, and the runs that the journal has forgotten: they have no record.
func (d *Doors) noteSpent(ctx context.Context, j Journal, runs []string) (known []string, all error) {
	for _, run := range runs {
		record, err := lastAttempt(ctx, j, path.Base(run))
		if err == nil && (record.Outbox != path.Dir(run) || record.Attempt > 1 && record.Key == path.Base(run)) {
			// A gateway that was taken over names another outbox's run, or a later attempt.
			known = append(known, run)
			continue
		}
		if err == nil && (record.Usage == nil || record.Usage.Model == nil) {
			err = d.noteSpentOf(ctx, j, run, record)
		}
		if err != nil && !errors.Is(err, journal.ErrUnknown) {
			all = errors.Join(all, fmt.Errorf("record the spending of run %s: %w", run, err))
			continue
		}
		known = append(known, run)
	}
	return known, all
}

func (d *Doors) noteSpentOf(ctx context.Context, j Journal, run string, record journal.Run) error {
	spent, err := d.gateway.Spent(ctx, budget.Scope{Kind: budget.Run, ID: run})
	if err != nil {
		return err
	}
	var used delegation.Usage
	if record.Usage != nil {
		used = *record.Usage
	}
	used.Model = usageOf(spent.Spent)
	return j.NoteUsage(ctx, record.Key, used)
}

// lastAttempt returns the record of a request's last attempt, given the key of its first attempt. That record has the
// spending of all attempts.
func lastAttempt(ctx context.Context, j Journal, first string) (journal.Run, error) {
	record, err := j.Get(ctx, first)
	if err != nil {
		return journal.Run{}, err
	}
	attempts, err := j.Attempts(ctx, record.Outbox, record.Subagent, record.Request)
	if err != nil || attempts <= record.Attempt {
		return record, err
	}
	key := record.RunKey()
	key.Attempt = attempts
	return j.Get(ctx, key.Hash())
}

// overOf returns the runs that are over and belong to an outbox of this journal. Other runs may be another watcher's.
func overOf(ctx context.Context, j Journal, runs []string) (over []string, err error) {
	ours, err := outboxesOf(ctx, j)
	if err != nil {
		return nil, err
	}
	unfinishedRuns, err := unfinished(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if ours[path.Dir(run)] && !unfinishedRuns[run] {
			over = append(over, run)
		}
	}
	return over, nil
}

// atOnce is how many records are in memory at once.
const atOnce = 256

// unfinished returns the runs with an attempt that has not ended or is not answered.
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
