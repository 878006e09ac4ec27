package watcher

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/journal"
)

// answerUntaken answers what no run of this watcher stands for when it stops: what ended under an earlier watcher, and what waited
// under that one and was not taken up again, because this watcher was told to stop before its first listing. It is called when all
// runs are over, or where none could be taken up: then only what has ended is answered, because a sandbox may be there for the others.
func (w *Watcher) answerUntaken(recovered bool) {
	ctx, cancel := context.WithTimeout(w.life, w.config.Shutdown.Budget)
	defer cancel()
	for after := int64(0); ; {
		unfinished, err := w.journal.Unfinished(ctx, after, settled)
		if err != nil || len(unfinished) == 0 {
			return // what is owed then is counted
		}
		for _, record := range unfinished {
			after = record.Seq
			if err := w.answerOne(ctx, record, recovered); err != nil && !errors.Is(err, journal.ErrMoved) {
				w.log.Warn("a run of an earlier watcher is not answered; the next start does it", "run", record.Key, "error", err)
			}
		}
	}
}

// answerOne answers a run of an earlier watcher that has ended, or was never released.
func (w *Watcher) answerOne(ctx context.Context, record journal.Run, recovered bool) error {
	box := w.boxOf(record.Outbox)
	if box == nil || w.road.Running(record.Key) != nil || box.Trouble() != nil {
		return nil //nolint:nilerr // the next watcher serves it, or does not
	}
	switch {
	case record.State == delegation.StateEnded:
		return w.answerRecord(ctx, box, record.Key)
	case record.Handle != nil || !recovered:
		return nil
	}
	if _, reason := box.StillAsked(record); reason != "" {
		return w.endUnanswered(ctx, record, reason)
	}
	return w.end(ctx, box, record, journal.Change{Reason: delegation.ReasonShutdown, Ended: time.Now()})
}
