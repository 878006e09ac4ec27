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
func (w *Watcher) attemptAgain(r *run, v verdict) bool {
	if v.reason != delegation.ReasonLost || r.final || r.key.Attempt >= r.spec.Attempts || r.handle.ID != "" || r.box.check(r) != "" {
		return false
	}
	r.times.ended = time.Now()
	next := r.nextAttempt()
	r.out.live.flush()
	w.handOn(r.out.progress(), next)
	next.out.countOn(w.notes.load(next.hash))
	crash.At("attempt.recorded")
	if err := w.journal.Again(w.life, r.hash, r.state, r.change(v), next.record()); err != nil {
		r.box.log.Error("a lost run cannot be attempted again", "run", r.hash, "error", err)
		return false
	}
	r.box.log.Warn("a run was lost and is attempted again", "run", r.hash, "attempt", next.key.Attempt, "of", r.spec.Attempts)
	crash.At("attempt.forgotten")
	w.notes.drop(r.hash)
	r.box.board.forget(r)
	w.own(next)
	w.schedule.GoFirst(w.life, &r.ticket, &next.ticket)
	return true
}

// nextAttempt is the run of the same request in another sandbox.
func (r *run) nextAttempt() *run {
	key := r.key
	key.Attempt++
	in := intake{name: r.file, read: *r.seenAs.Load(), seen: r.seen}
	next := r.box.w.newRun(r.box, key, in, r.spec, append(r.warnings[:len(r.warnings):len(r.warnings)], lostWarning(r.key.Attempt)))
	next.ticket.Bytes, next.admitted, next.number = r.ticket.Bytes, time.Now(), r.number
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
		return false, nil
	}
	spec, _, err := compile.Compile(in.request, box.settings.Policy)
	if allowed := err == nil; !allowed || record.Attempt >= spec.Attempts {
		return false, nil // the record is answered as it is
	}
	r := w.newRun(box, record.RunKey(), in, spec, record.Warnings)
	next := r.nextAttempt()
	w.handOn(w.notes.load(record.Key), next)
	crash.At("recover.attempted")
	err = w.journal.Again(ctx, record.Key, record.State, lost, next.record())
	if errors.Is(err, journal.ErrForgotten) {
		return false, nil // its parent has made the request so old
	}
	return true, err
}
