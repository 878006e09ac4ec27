package watcher

import (
	"context"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/outbox"
	"torno/watcher/run"
	"torno/watcher/schedule"
)

// dispatch is the carrier of a watcher's outboxes.
type dispatch struct{ *Watcher }

// requestOf is what runs are made from.
func requestOf(a *outbox.Admission) run.Request {
	return run.Request{
		Key: a.Key, Outbox: a.Outbox, Spec: a.Spec, Warnings: a.Warnings, Launcher: a.Launcher, Chosen: a.Chosen, Seen: a.Seen, Bytes: a.Bytes, Descent: a.Descent, Made: a.Made,
	}
}

func underwayOf(r *run.Run) outbox.Underway {
	return outbox.Underway{Admission: r.Client().(*outbox.Admission), Run: r.Key(), Ticket: r.Ticket()}
}

// Carry is for outbox.Host.
func (d dispatch) Carry(ctx context.Context, a *outbox.Admission, existing *journal.Run) bool {
	return d.runs.Submit(ctx, requestOf(a), a, existing)
}

// Running is for outbox.Host.
func (d dispatch) Running(key string) (outbox.Underway, bool) {
	r := d.runs.Running(key)
	if r == nil {
		return outbox.Underway{}, false
	}
	return underwayOf(r), true
}

// Newest is for outbox.Host.
func (d dispatch) Newest(ctx context.Context, box string, id delegation.SubagentID) (outbox.Underway, bool) {
	found := d.schedule.Find(ctx, schedule.Subject{Outbox: box, Subagent: id})
	if found == nil {
		return outbox.Underway{}, false
	}
	return underwayOf(found.Run.(*run.Run)), true
}

// Hear is for outbox.Host.
func (d dispatch) Hear(u outbox.Underway, n int) {
	if r := d.runs.Running(u.Run); r != nil {
		r.Hear(n)
	}
}

// Stop is for outbox.Host.
func (d dispatch) Stop(ctx context.Context, u outbox.Underway, reason delegation.Reason) {
	d.schedule.Stop(ctx, u.Ticket, reason)
}
