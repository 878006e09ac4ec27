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
	complete := r.client.CompleteLive(p)
	p = p.ForNext(p.Lost || p.Inside || !complete)
	crash.At("segment.noted")
	r.runs.Notes.Save(r.hash, p)
	r.out.CountOn(p)
}

// handOn notes for the next attempt of a lost run where the live output of the lost one stopped.
func (r *runner) handOn(p output.Progress, next *runner) {
	if p.Segment > 0 {
		r.client.CompleteLive(p) // what is not there is told with the gap that follows
		crash.At("segment.noted")
		r.runs.Notes.Save(next.hash, p.ForNext(true))
	}
}
