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
