package run

import (
	"torno/internal/crash"
	"torno/watcher/output"
)

// countOn has the live output of a run that an earlier watcher admitted, and did not release, go on after what that one published.
func (r *runner) countOn() {
	p := r.runs.Notes.Load(r.hash)
	if p.Segment == 0 {
		return
	}
	p = p.ForNext(p.Lost || p.Inside || !r.client.HasLive(p.Segment))
	crash.At("segment.noted")
	r.runs.Notes.Save(r.hash, p)
	r.out.CountOn(p)
}

// handOn notes for the next attempt of a lost run where the live output of the lost one stopped.
func (r *runner) handOn(p output.Progress, next *runner) {
	if p.Segment > 0 {
		crash.At("segment.noted")
		r.runs.Notes.Save(next.hash, p.ForNext(true))
	}
}
