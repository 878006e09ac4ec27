package watcher

import (
	"context"
	"log/slog"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/notice"
	"torno/watcher/run"
	"torno/watcher/schedule"
)

// host is what all outboxes share.
type host struct {
	journal       *journal.Journal
	notices       *notice.Board
	carrier       carrier
	life          context.Context // done when the watcher stops working
	born          time.Time       // when the watcher began
	maxRequestAge time.Duration   // 0 for no bound
	reopen        func()          // has all outboxes opened anew
	log           *slog.Logger
}

// carrier carries admissions to their answers, and finds those that are on their way.
type carrier interface {
	// Carry makes a run of an admission that is in the journal. An earlier watcher may have begun with it, and launched nothing. It is
	// false where the run is turned down, and answered so.
	Carry(ctx context.Context, a *admission, existing *journal.Run) bool
	// Running is the run of a key, while it is not answered.
	Running(key string) (underway, bool)
	// Newest is the newest run of a subagent of an outbox, while it is not over.
	Newest(ctx context.Context, outbox string, id delegation.SubagentID) (underway, bool)
	Stop(ctx context.Context, u underway, reason delegation.Reason)
}

// underway is a run on its way.
type underway struct {
	*admission
	run    string // the key of this attempt
	ticket *schedule.Ticket
}

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
