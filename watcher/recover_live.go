package watcher

import (
	"context"
	"errors"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/watcher/outbox"
	"torno/watcher/output"
)

// endOutput ends the live output of a run that has already ended, if the watcher at that time did not end it, or if
// there was none.
func (w *Watcher) endOutput(box *outbox.Outbox, record journal.Run) {
	p, key := w.notes.Load(record.Key), record.RunKey()
	if p.Segment == 0 {
		return
	}
	if complete := box.CompleteLive(key, p); complete && p.Over {
		return
	}
	o := &output.Child{Live: box.NewLive(key)}
	o.CountOn(p.ForNext(true))
	o.Live.Note = func() {
		crash.At("segment.noted")
		w.notes.Save(record.Key, o.Progress())
	}
	o.Live.State(delegation.StateEnded, record.Reason)
	o.Live.Flush()
}

// unfinished reports whether the run goes on, now or after it is taken up, or is not answered yet: then the end of its
// live output may still be missing.
func (rec *recovery) unfinished(ctx context.Context, key string) bool {
	if rec.runs.Running(key) != nil {
		return true
	}
	record, err := rec.journal.Get(ctx, key)
	// If the journal cannot answer, the run may go on.
	return !errors.Is(err, journal.ErrUnknown) && (record.State != delegation.StateEnded || !record.Answered)
}
