package watcher

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/journal"
)

// respondToUntaken responds, when this watcher stops, to requests of an earlier watcher that this one did not take up:
// to runs that ended under the earlier watcher, and to runs that waited under it, because this watcher was told to stop
// before its first listing. If recovered is true, all runs are over. If it is false, no run could be taken up; then
// respondToUntaken responds to ended runs only, because the others may have a sandbox.
func (w *Watcher) respondToUntaken(recovered bool) {
	ctx, cancel := context.WithTimeout(w.life, w.config.Shutdown.Budget)
	defer cancel()
	stuck := stuckOutboxes{}
	for after := int64(0); ; {
		unfinished, err := w.journal.Unfinished(ctx, after, settled)
		if err != nil || len(unfinished) == 0 {
			return // owed counts the responses that are missing then
		}
		for _, record := range unfinished {
			after = record.Seq
			if err := w.respondToOne(ctx, record, recovered, stuck); err != nil && !errors.Is(err, journal.ErrMoved) {
				w.log.Warn("the watcher could not respond to a run of an earlier watcher; the next start writes the response", "run", record.Key, "error", err)
			}
		}
	}
}

// respondToOne responds to a run of an earlier watcher that has ended or was never released.
func (w *Watcher) respondToOne(ctx context.Context, record journal.Run, recovered bool, stuck stuckOutboxes) error {
	box := w.boxOf(record.Outbox)
	if box == nil || w.runs.Running(record.Key) != nil || box.Trouble() != nil {
		return nil //nolint:nilerr // leave it to the next watcher, if that watcher serves the outbox
	}
	switch {
	case record.State == delegation.StateEnded:
		return w.respondToEnded(ctx, box, record, stuck)
	case record.Handle != nil || !recovered:
		return nil
	}
	if _, reason := box.StillAsked(record); reason != "" {
		return w.endUnrequested(ctx, record, reason)
	}
	change := journal.Change{Reason: delegation.ReasonShutdown, Ended: time.Now()}
	if record.Ending != nil {
		change = record.Ending.Change()
	}
	return w.end(ctx, box, record, change)
}
