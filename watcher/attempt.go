package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox/compile"
)

// attemptAgain has a lost run attempted once more, where its profile says so and its client still waits. The sandbox is
// proved to be gone by then. The next attempt goes first in its outbox.
func (w *road) attemptAgain(r *run, v verdict) bool {
	if v.reason != delegation.ReasonLost || r.final || r.key.Attempt >= r.spec.Attempts || r.handle.ID != "" || r.admission.Check() != "" {
		return false
	}
	r.times.ended = time.Now()
	next := r.nextAttempt()
	r.out.Live.Flush()
	w.handOn(r.out.Progress(), next)
	next.out.CountOn(w.notes.Load(next.hash))
	crash.At("attempt.recorded")
	if err := w.journal.Again(w.life, r.hash, r.state, r.change(v), next.record()); err != nil {
		r.log.Error("a lost run cannot be attempted again", "run", r.hash, "error", err)
		return false
	}
	r.log.Warn("a run was lost and is attempted again", "run", r.hash, "attempt", next.key.Attempt, "of", r.spec.Attempts)
	crash.At("attempt.forgotten")
	w.notes.Drop(r.hash)
	w.own(next)
	w.schedule.GoFirst(w.life, &r.ticket, &next.ticket)
	return true
}

// nextAttempt is the run of the same request in another sandbox.
func (r *run) nextAttempt() *run {
	key := r.key
	key.Attempt++
	next := r.road.newRun(r.admission, key, append(r.warnings[:len(r.warnings):len(r.warnings)], lostWarning(r.key.Attempt)))
	next.admitted, next.number = time.Now(), r.number
	return next
}

// lostWarning tells whoever reads the response of a later attempt what became of an earlier one.
func lostWarning(attempt int) string {
	return fmt.Sprintf("Attempt %d was lost with its sandbox, and may have left something in the workspace.", attempt)
}

// attemptLost is attemptAgain for a run that was lost while no watcher was there. The first listing takes it up.
func (w *Watcher) attemptLost(ctx context.Context, box *outbox, record journal.Run, lost journal.Change) (bool, error) {
	in, reason := box.stillAsked(record)
	if reason != "" {
		return w.notAgain(record, "its client does not wait any more: "+string(reason)), nil
	}
	spec, _, err := compile.Compile(in.request, box.settings.Policy)
	if err != nil {
		return w.notAgain(record, err.Error()), nil
	}
	if record.Attempt >= spec.Attempts {
		return false, nil // the record is answered as it is
	}
	a := box.admission(record.RunKey(), in, spec, record.Warnings)
	next := w.newRun(a, a.key, a.warnings).nextAttempt()
	w.handOn(w.notes.Load(record.Key), next)
	crash.At("recover.attempted")
	err = w.journal.Again(ctx, record.Key, record.State, lost, next.record())
	if errors.Is(err, journal.ErrForgotten) {
		return w.notAgain(record, err.Error()), nil // its parent has made the request so old
	}
	return true, err
}

// notAgain says why a lost run is not attempted once more.
func (w *Watcher) notAgain(record journal.Run, why string) bool {
	w.log.Warn("a lost run is not attempted again", "outbox", w.boxOf(record.Outbox).name, "run", record.Key, "attempt", record.Attempt, "because", why)
	return false
}
