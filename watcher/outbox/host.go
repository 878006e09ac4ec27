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
	"torno/watcher/run"
)

// Host holds what all outboxes share.
type Host struct {
	Journal       *journal.Journal
	Notices       *notice.Board
	Runs          runs
	Life          context.Context // done when the watcher stops working
	Born          time.Time       // when the watcher began
	MaxRequestAge time.Duration   // 0 for no bound
	Events        *events.Store   // keeps the events of runs; nil if none are kept
	Reopen        func()          // has all outboxes opened anew
	// Session explains why a subagent cannot continue the session that its request names; it returns nil if it can. The
	// function is nil if no sessions are kept.
	Session func(outbox string, id delegation.SubagentID, p sandbox.Process) *delegation.Refusal
	Log     *slog.Logger
}

// runs carries requests to their answers and finds unfinished runs; see run.Runs.
type runs interface {
	Submit(ctx context.Context, q run.Request, c run.Client, existing *journal.Run) bool
	Running(key string) *run.Run
	Newest(ctx context.Context, outbox string, id delegation.SubagentID) *run.Run
}

// admissionOf returns the admission of a run. Every run has one.
func admissionOf(r *run.Run) *Admission { return r.Client().(*Admission) }
