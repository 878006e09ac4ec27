package manager

import (
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// pulse follows a heartbeat over time. It trusts a beat that changes and never the clock of the other side, which may
// be another machine's: a beat from the future that stands still is as dead as an old one. Times are by our monotonic
// clock, so that it does not matter when somebody sets it.
type pulse struct {
	beat   delegation.Heartbeat
	err    error     // why the last look saw no beat
	never  bool      // there was nothing at the first look, nor since
	first  time.Time // of our looks
	moved  time.Time // when the beat was last seen to move; at the first look its age is believed
	nobody *NobodyServingError
}

// feel looks at the heartbeat and notes whether somebody serves the outbox.
func (p *pulse) feel(m *Manager) {
	beat, err := m.heartbeat()
	now := time.Now()
	switch p.err = err; {
	case p.first.IsZero():
		p.begin(beat, now)
	case err == nil:
		p.never = false
		if !beat.BeatAt.Equal(p.beat.BeatAt) {
			p.moved = now
		}
		p.beat = beat
	}
	p.nobody = p.judge(m, now)
}

// begin takes the first look. A beat that is neither old nor new leaves the watcher the time for one more: it may have
// died right after it.
func (p *pulse) begin(beat delegation.Heartbeat, now time.Time) {
	p.beat, p.first, p.moved, p.never = beat, now, now, errors.Is(p.err, fs.ErrNotExist)
	if p.err != nil {
		return
	}
	age := now.Sub(beat.BeatAt)
	if limit := deadBeats * interval(beat); age <= limit {
		age = min(age, limit-interval(beat))
	}
	p.moved = now.Add(-max(age, 0))
}

// judge says why nobody serves, or nil while somebody does. One who is about to stop still works.
func (p *pulse) judge(m *Manager, now time.Time) *NobodyServingError {
	if p.never {
		return m.absence(p.beat, p.err, 0)
	}
	still := now.Sub(p.moved)
	nobody := m.absence(p.beat, nil, still)
	if nobody == nil || nobody.Stopping {
		return nil
	}
	if !nobody.Stopped && !errors.Is(p.err, fs.ErrNotExist) {
		nobody.Cause = p.err
	}
	return nobody
}

// lost says that nobody has served for longer than a patience, and that it was looked at long enough to know.
func (p *pulse) lost(patience time.Duration) bool {
	now := time.Now()
	switch {
	case p.nobody == nil:
		return false
	case p.never:
		return true
	case p.nobody.silent() && now.Sub(p.first) < secondLook(p.beat):
		return false
	}
	return now.Sub(p.moved) >= patience
}
