package journal

import (
	"context"

	"torno/delegation"
)

// Descent is where a run stands in the tree of its outbox. A parent is a run and no name: a run of the same outbox that had not ended when
// this one began. So parents began before their children, and no run is above itself.
type Descent struct {
	Parent string // the parent_id of the request; "" for none
	Run    string // the key of the run that it meant; "" where it named none of the outbox
	Depth  int    // 1 directly below the agent whose outbox it is, which is 0 in rows that had no admission
}

// Children is how many runs of a parent have not ended, but for those of one subagent: its next run takes their place.
func (j *Journal) Children(ctx context.Context, parent string, but delegation.SubagentID) (n int, err error) {
	query, err := j.read.prepared(children)
	if err == nil {
		err = query.QueryRowContext(ctx, parent, textColumn{m: &but}).Scan(&n)
	}
	return n, j.explain("count the children of a run", err)
}

const children = `SELECT count(*) FROM runs WHERE parent_run = ? AND parent_run <> '' AND state <> 'ended' AND subagent <> ?`
