package outbox

import (
	"context"
	"log/slog"
	"time"

	"torno/delegation"
	"torno/internal/events"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/notice"
	"torno/watcher/schedule"
)

// Host is what all outboxes share.
type Host struct {
	Journal       *journal.Journal
	Notices       *notice.Board
	Carrier       carrier
	Life          context.Context // done when the watcher stops working
	Born          time.Time       // when the watcher began
	MaxRequestAge time.Duration   // 0 for no bound
	Events        *events.Store   // keeps what happens in runs; nil where none are kept
	Reopen        func()          // has all outboxes opened anew
	// Session says why a subagent of an outbox cannot go on with the session that its request names; nil where it can. The function is nil
	// where no session is kept.
	Session func(outbox string, id delegation.SubagentID, p sandbox.Process) *delegation.Refusal
	Log     *slog.Logger
}

// carrier carries admissions to their answers, and finds those that are on their way.
type carrier interface {
	// Carry makes a run of an admission that is in the journal. An earlier watcher may have begun with it, and launched nothing. It is
	// false where the run is turned down, and answered so.
	Carry(ctx context.Context, a *Admission, existing *journal.Run) bool
	// Running is the run of a key, while it is not answered.
	Running(key string) (Underway, bool)
	// Newest is the newest run of a subagent of an outbox, while it is not over.
	Newest(ctx context.Context, outbox string, id delegation.SubagentID) (Underway, bool)
	Stop(ctx context.Context, u Underway, reason delegation.Reason)
	// Hear tells a run that its parent may have said something, in a file of this number.
	Hear(u Underway, n int)
}

// Underway is a run on its way.
type Underway struct {
	*Admission
	Run    string // the key of this attempt
	Ticket *schedule.Ticket
}
