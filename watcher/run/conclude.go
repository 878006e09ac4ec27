package run

import (
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// conclude writes down how a run ended and answers it: the journal first, then the file. It says whether the end is written down.
// Where it is not, the next start answers the run, and finds out from its sandbox how it ended.
func (r *runner) conclude(v verdict) bool {
	defer r.runs.disown(r.Run)
	r.times.ended = time.Now()
	r.out.Rest()
	r.closeDesk()
	if !r.writeDown(v) {
		return false
	}
	r.live.Flush()
	crash.At("end.forgotten")
	r.runs.Notes.Drop(r.hash)
	r.keepLive()
	r.log.Info("run ended", "subagent", r.key.Subagent, "run", r.hash, "reason", v.reason, "exit", v.exit.Code,
		"total", r.times.ended.Sub(r.request.Seen).Round(time.Millisecond))
	r.client.DiscardCancels() // before the answer: a client that has it may ask again, and cancel that, and that cancel must stay
	r.answer()
	return true
}

// writeDown tries until the journal takes the end or the watcher stops working: a run whose end is not recorded would be
// answered twice or never.
func (r *runner) writeDown(v verdict) bool {
	err := r.moveTo(r.runs.Life, delegation.StateEnded, r.endOf(v))
	if err != nil {
		r.log.Error("the journal does not take the end of a run; the next start answers it", "run", r.hash, "error", err)
	}
	return err == nil
}

// answer publishes the response from the journal's own record, the same way as after a restart. Where the request is
// gone or another one is in its place, none is owed.
func (r *Run) answer() {
	record, err := r.runs.Journal.Get(r.runs.Life, r.hash)
	if err == nil {
		err = r.client.Answer(record)
	}
	if err == nil {
		crash.At("end.noted")
		err = r.runs.Journal.NoteAnswered(r.runs.Life, r.hash)
	}
	if err != nil {
		r.log.Error("a response cannot be written; it is tried again", "run", r.hash, "error", err)
	}
}

// endOf is a verdict as the journal keeps it.
func (r *runner) endOf(v verdict) journal.Change {
	r.blameParent(v.reason)
	c := journal.Change{
		Reason: v.reason, Started: r.Standing().Started, Ended: r.times.ended, Warnings: r.warnings,
		StdoutTail: r.out.Stdout.String(), StderrTail: r.out.Stderr.String(), Timings: r.timings(),
		Usage:   &delegation.Usage{PeakMemoryBytes: v.exit.PeakMemory, CPUSeconds: v.exit.CPUTime.Seconds(), OutputBytes: r.out.Bytes, WorkspaceBytes: r.workplace.bytes, Model: r.model},
		Session: r.session, Artifacts: r.artifacts,
	}
	switch v.reason {
	case delegation.ReasonExited, delegation.ReasonSignalled, delegation.ReasonOutOfMemory, delegation.ReasonBudget:
		c.ExitCode = &v.exit.Code
	}
	if v.refusal == nil {
		v.refusal = r.whyEnded(v.reason)
	}
	if f := v.refusal; f != nil {
		c.Code, c.Field, c.Hint, c.Text = f.Code, f.Field, f.Hint, f.Text
	}
	return c
}

func (r *runner) timings() *delegation.Timings {
	t, started := r.times, r.Standing().Started
	return &delegation.Timings{
		Admit: between(r.request.Seen, r.admitted), Queue: between(r.admitted, t.dequeued), Create: between(t.dequeued, t.created),
		Start: between(t.created, started), Run: between(started, t.ended), Total: between(r.request.Seen, t.ended),
	}
}

// between is the time from one milestone to the next in milliseconds, 0 when either was not reached.
func between(from, to time.Time) float64 {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return 0
	}
	return float64(to.Sub(from).Microseconds()) / 1000
}

func (r *runner) keepLive() {
	first, last := r.live.Span()
	r.client.KeepLive(first, last, r.times.ended)
}
