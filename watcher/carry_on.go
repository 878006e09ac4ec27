package watcher

import (
	"context"
	"errors"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// A client may read a run's live output slowly, while one sandbox of the run follows another and one watcher another. So segments
// and events count on: no name is published twice, and a gap says where output is missing.

// behind is the progress of a run's next sandbox: nothing of its output was taken, and the numbers go on.
func (p progress) behind(lost bool) progress {
	return progress{Segment: p.Segment, Lines: p.Lines, Lost: lost}
}

// countOn has live output go on behind what another sandbox of the run has printed.
func (o *output) countOn(p progress) {
	if p.Segment == 0 {
		return
	}
	o.live.seq, o.live.lines = p.Segment, p.Lines
	if p.Lost {
		o.live.gap()
	}
}

// countOn has the live output of a run that an earlier watcher admitted, and did not release, go on behind what that one published.
func (w *road) countOn(r *run) {
	p := w.notes.load(r.hash)
	if p.Segment == 0 {
		return
	}
	p = p.behind(p.Lost || p.Inside || !r.admission.HasLive(p.Segment))
	crash.At("segment.noted")
	w.notes.save(r.hash, p)
	r.out.countOn(p)
}

// handOn notes for the next attempt of a lost run where the live output of the lost one stopped.
func (w *road) handOn(p progress, next *run) {
	if p.Segment > 0 {
		crash.At("segment.noted")
		w.notes.save(next.hash, p.behind(true))
	}
}

// endOutput ends the live output of a run that ended under an earlier watcher, or without one, if that watcher did not do so.
func (w *Watcher) endOutput(box *outbox, record journal.Run) {
	p, key := w.notes.load(record.Key), record.RunKey()
	if p.Segment == 0 || p.Over && box.hasSegment(key)(p.Segment) {
		return
	}
	o := &output{live: box.newSegments(key)}
	o.countOn(p.behind(true))
	o.live.note = func() {
		crash.At("segment.noted")
		w.notes.save(record.Key, o.progress())
	}
	o.live.state(delegation.StateEnded, record.Reason)
	o.live.flush()
}

// unfinished says whether a run goes on, here or when it is taken up.
func (w *Watcher) unfinished(ctx context.Context, key string) bool {
	if w.running(key) != nil {
		return true
	}
	record, err := w.journal.Get(ctx, key)
	return !errors.Is(err, journal.ErrUnknown) && record.State != delegation.StateEnded // what cannot be asked may go on
}
