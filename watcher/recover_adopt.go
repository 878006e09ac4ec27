package watcher

import (
	"context"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/outbox"
)

// adopt takes over a sandbox and follows it to its end. If the request is gone, or if today's policy no longer allows
// the run, adopt ends it.
func (rec *recovery) adopt(ctx context.Context, box *outbox.Outbox, record journal.Run, h sandbox.Handle) error {
	if record.State == delegation.StateQueued { // a power failure has lost a move that was not flushed
		if err := rec.journal.Move(ctx, record.Key, record.State, delegation.StateStarting, journal.Change{}); err != nil {
			return err
		}
		record.State = delegation.StateStarting
	}
	if err := rec.noteSite(ctx, record, h); err != nil {
		return err
	}
	a, reason := box.TakeUp(record, h.State == sandbox.HandleExited)
	rec.log.Info("adopted a run of an earlier watcher", "outbox", box.Name, "subagent", record.Subagent, "run", record.Key,
		"sandbox", h.State, "to_end", reason)
	rec.runs.Adopt(a.Request, a, record, h, reason, h.On(rec.sites[h.Launcher]))
	return nil
}
