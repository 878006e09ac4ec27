package journal

import (
	"context"
	"fmt"

	"torno/delegation"
)

// Again ends a lost run and begins its next attempt in one step, so that at every moment exactly one run owes the
// request its response. No response is owed for the earlier attempt. If the request is so old that this attempt may
// already have run long ago, Again changes nothing and returns ErrForgotten.
func (j *Journal) Again(ctx context.Context, key string, from delegation.State, c Change, next Run) error {
	c.Answered = true
	if c.Reason != delegation.ReasonLost || next.State != delegation.StateQueued || next.Attempt < 2 || !legal(from, delegation.StateEnded) {
		return fmt.Errorf("%w: run %s ended as %q and attempt %d begins as %q", ErrIllegal, key, c.Reason, next.Attempt, next.State)
	}
	if err := next.check(); err != nil {
		return err
	}
	doing, taken := "attempt run "+key+" again", true
	err := j.order(ctx, doing, onDisk, func(tx *transaction) error {
		moved, err := tx.exec(moveRun, append(c.columns(false, j.now()), delegation.StateEnded, key, from)...)
		if taken = moved == 1; err != nil || !taken {
			return err
		}
		begun, err := tx.exec(insertRun, append(next.columns(), j.overAt(next))...)
		if err == nil && begun != 1 {
			err = fmt.Errorf("begin attempt %d: %w", next.Attempt, ErrForgotten)
		}
		return err
	})
	if err == nil && !taken {
		err = j.explain(doing, ErrMoved)
	}
	j.tellEnd(err, true, key)
	return err
}

// Attempts returns how often a request was attempted so far.
func (j *Journal) Attempts(ctx context.Context, outbox string, subagent delegation.SubagentID, request delegation.RequestID) (n int, err error) {
	query, err := j.read.prepared(attempts)
	if err == nil {
		err = query.QueryRowContext(ctx, outbox, textColumn{m: &subagent}, textColumn{m: &request}).Scan(&n)
	}
	return n, j.explain("count the attempts of a request", err)
}

const attempts = `SELECT coalesce(max(attempt), 0) FROM runs WHERE outbox = ? AND subagent = ? AND request = ?`
