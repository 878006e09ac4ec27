package watcher

import (
	"context"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/run"
	"torno/watcher/schedule"
)

// dispatch is the carrier of a watcher's outboxes.
type dispatch struct{ *Watcher }

// requestOf is what runs are made from.
func requestOf(a *admission) run.Request {
	return run.Request{
		Key: a.key, Outbox: a.outbox, Spec: a.spec, Warnings: a.warnings, Launcher: a.launcher, Chosen: a.chosen, Seen: a.seen, Bytes: a.bytes,
	}
}

func underwayOf(r *run.Run) underway { return underway{r.Client().(*admission), r.Key(), r.Ticket()} }

// Carry is for carrier.
func (d dispatch) Carry(ctx context.Context, a *admission, existing *journal.Run) bool {
	return d.road.Carry(ctx, requestOf(a), a, existing)
}

// Running is for carrier.
func (d dispatch) Running(key string) (underway, bool) {
	r := d.road.Running(key)
	if r == nil {
		return underway{}, false
	}
	return underwayOf(r), true
}

// Newest is for carrier.
func (d dispatch) Newest(ctx context.Context, outbox string, id delegation.SubagentID) (underway, bool) {
	found := d.schedule.Find(ctx, schedule.Subject{Outbox: outbox, Subagent: id})
	if found == nil {
		return underway{}, false
	}
	return underwayOf(found.Run.(*run.Run)), true
}

// Stop is for carrier.
func (d dispatch) Stop(ctx context.Context, u underway, reason delegation.Reason) {
	d.schedule.Stop(ctx, u.ticket, reason)
}
