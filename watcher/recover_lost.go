package watcher

import (
	"context"
	"errors"

	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox/compile"
	"torno/watcher/outbox"
)

// attemptLost attempts a run again that was lost while no watcher was there. The first listing takes the new attempt
// up.
func (rec *recovery) attemptLost(ctx context.Context, box *outbox.Outbox, record journal.Run, lost journal.Change) (bool, error) {
	in, reason := box.StillAsked(record)
	if reason != "" {
		return rec.notAgain(record, "its client does not wait any more: "+string(reason)), nil
	}
	spec, _, err := compile.Compile(in.Request, box.Settings.Policy)
	if err != nil {
		return rec.notAgain(record, err.Error()), nil
	}
	if record.Attempt >= spec.Attempts {
		return false, nil // the run is answered as lost
	}
	a := box.Admission(record.RunKey(), in, spec, record.Warnings)
	next := rec.runs.NextRecord(a.Request, a)
	crash.At("recover.attempted")
	err = rec.journal.Again(ctx, record.Key, record.State, lost, next)
	if errors.Is(err, journal.ErrForgotten) {
		// The request's file time is too old for another attempt; its writer chose that time.
		return rec.notAgain(record, err.Error()), nil
	}
	return true, err
}

// notAgain logs why a lost run is not attempted again, and returns false.
func (rec *recovery) notAgain(record journal.Run, why string) bool {
	rec.log.Warn("a lost run is not attempted again", "outbox", rec.boxOf(record.Outbox).Name, "run", record.Key, "attempt", record.Attempt, "because", why)
	return false
}
