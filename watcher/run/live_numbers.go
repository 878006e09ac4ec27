package run

import (
	"torno/internal/crash"
	"torno/watcher/output"
)

// countOn continues the live output of a run that an earlier watcher admitted but did not release. It goes on after the
// last output that the earlier watcher published.
func (r *runner) countOn() {
	p := r.runs.Notes.Load(r.hash)
	if p.Segment == 0 {
		return
	}
	complete := r.client.CompleteLive(p)
	p = p.ForNext(p.Lost || p.Inside || !complete)
	crash.At("segment.noted")
	r.runs.Notes.Save(r.hash, p)
	r.out.CountOn(p)
}

// handOn notes, for the next attempt of a lost run, where the live output of the lost attempt stopped.
func (r *runner) handOn(p output.Progress, next *runner) {
	if p.Segment > 0 {
		r.client.CompleteLive(p) // a missing segment is told by the gap that follows
		crash.At("segment.noted")
		r.runs.Notes.Save(next.hash, p.ForNext(true))
	}
}
