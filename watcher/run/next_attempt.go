package run

import (
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// attemptAgain begins the next attempt of a lost run whose sandbox is gone, and reports whether it did. It does so if the
// profile allows another attempt, the client still waits, and no one has ended the run. The schedule starts the
// next attempt before the other runs of its outbox.
func (r *runner) attemptAgain(v verdict) bool {
	if v.reason != delegation.ReasonLost || v.final || r.key.Attempt >= r.request.Spec.Attempts || r.handle.ID != "" || r.EndAsked() != "" || r.client.Check() != "" {
		return false
	}
	r.times.ended = time.Now()
	next := r.nextAttempt()
	r.live.Flush()
	r.handOn(r.out.Progress(), next)
	next.out.CountOn(r.runs.Notes.Load(next.hash))
	crash.At("attempt.recorded")
	if err := r.runs.Journal.Again(r.runs.Life, r.hash, r.Standing().Phase.State(), r.endOf(v), next.record()); err != nil {
		r.log.Error("the watcher cannot attempt a lost run again", "run", r.hash, "error", err)
		return false
	}
	r.runs.Removals.Release(r.sandbox) // the next attempt has a sandbox of its own
	r.log.Warn("a run was lost and is attempted again", "run", r.hash, "attempt", next.key.Attempt, "of", r.request.Spec.Attempts)
	crash.At("attempt.forgotten")
	r.runs.Notes.Drop(r.hash)
	r.runs.own(next.Run)
	r.runs.Schedule.GoFirst(r.runs.Life, &r.ticket, &next.ticket)
	return true
}

// nextAttempt returns a run of the same request, for another sandbox. It follows the policy, not the terms of the lost
// attempt's release.
func (r *runner) nextAttempt() *runner {
	again := r.request
	again.Key.Attempt++
	again.Warnings = append(r.warnings[:len(r.warnings):len(r.warnings)], delegation.LostAttempt(r.key.Attempt))
	next := r.runs.newRun(again, again.Spec, r.client)
	next.admitted, next.number = time.Now(), r.number
	return next
}

// NextRecord returns the record of the next attempt of a run that was lost while no watcher was there. Its live output
// continues after the live output of the lost attempt.
func (runs *Runs) NextRecord(q Request, c Client) journal.Run {
	lost := runs.newRun(q, q.Spec, c)
	next := lost.nextAttempt()
	lost.handOn(runs.Notes.Load(lost.hash), next)
	return next.record()
}
