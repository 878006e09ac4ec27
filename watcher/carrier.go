package watcher

import (
	"context"
	"log/slog"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/watcher/notice"
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

// Carry is for carrier.
func (w *road) Carry(ctx context.Context, a *admission, existing *journal.Run) bool {
	r := w.newRun(a, a.key, a.warnings)
	if existing != nil {
		r.state = existing.State
		w.countOn(r)
	}
	r.admitted = time.Now()
	w.lookAbove(r)
	w.own(r)
	if refusal := w.schedule.Submit(ctx, &r.ticket); refusal != nil {
		w.dismiss(r, verdict{reason: delegation.ReasonRefused, refusal: refusal})
		return false
	}
	return true
}

func (r *run) underway() underway { return underway{r.admission, r.hash, &r.ticket} }

// Running is for carrier.
func (w *road) Running(key string) (underway, bool) {
	r := w.running(key)
	if r == nil {
		return underway{}, false
	}
	return r.underway(), true
}

// Newest is for carrier.
func (w *road) Newest(ctx context.Context, outbox string, id delegation.SubagentID) (underway, bool) {
	found := w.schedule.Find(ctx, schedule.Subject{Outbox: outbox, Subagent: id})
	if found == nil {
		return underway{}, false
	}
	return found.Run.(*run).underway(), true
}

// Stop is for carrier.
func (w *road) Stop(ctx context.Context, u underway, reason delegation.Reason) {
	w.schedule.Stop(ctx, u.ticket, reason)
}
