package run

import (
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// conclude writes down how a run ended, and answers it: the journal first, then the file. It reports whether the end is
// written down. If not, the next start finds out from the sandbox how the run ended, and answers the run.
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
	r.client.DiscardCancels() // before the answer: with the answer a client may ask again and cancel that request, and the new cancel must stay
	r.answer()
	return true
}

// writeDown tries until the journal takes the end or the watcher stops working: a run whose end is not recorded would
// be answered twice or never.
func (r *runner) writeDown(v verdict) bool {
	err := r.moveTo(r.runs.Life, delegation.StateEnded, r.endOf(v))
	if err != nil {
		r.log.Error("the journal did not record the end of a run; the next start writes the response", "run", r.hash, "error", err)
	}
	return err == nil
}

// answer publishes the response from the journal's own record, the same way as after a restart. If the request is gone,
// or another request is in its place, no response is owed.
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
		r.log.Error("the watcher cannot write a response; it tries again", "run", r.hash, "error", err)
	}
}

// endOf turns a verdict into a change for the journal.
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

// between returns the milliseconds from one milestone to the next, or 0 if either was not reached.
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
