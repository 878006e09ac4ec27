package journal

import (
	"context"

	"torno/delegation"
)

// Descent is a run's place in the tree of its outbox. A parent is a run and not a name: it is a run of the same outbox
// that had not ended when this run began. So parents began before their children, and no run is above itself.
type Descent struct {
	Parent string // the parent_id of the request; "" for none
	Run    string // the key of the parent run; "" if parent_id named no run of the outbox
	Depth  int    // 1 directly below the outbox's own agent; 0 in rows without an admission
}

// Children returns how many runs of a parent have not ended. The runs of one subagent, but, do not count, because its
// next run takes their place.
func (j *Journal) Children(ctx context.Context, parent string, but delegation.SubagentID) (n int, err error) {
	query, err := j.read.prepared(children)
	if err == nil {
		err = query.QueryRowContext(ctx, parent, textColumn{m: &but}).Scan(&n)
	}
	return n, j.explain("count the children of a run", err)
}

const children = `SELECT count(*) FROM runs WHERE parent_run = ? AND parent_run <> '' AND state <> 'ended' AND subagent <> ?`
