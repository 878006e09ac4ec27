package manager

import (
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// heartbeatMonitor follows a heartbeat over time. It trusts only a beat that changes and never the clock of the other
// side, which may be another machine's: a beat from the future that stands still is as dead as an old one. All times
// are by our monotonic clock, so setting the wall clock changes nothing.
type heartbeatMonitor struct {
	beat    delegation.Heartbeat
	err     error     // why the last look saw no beat
	never   bool      // no look has ever found a heartbeat
	first   time.Time // the time of our first look
	moved   time.Time // when the beat last moved; at the first look we believe its age
	absence *NobodyServingError
}

// update reads the heartbeat and records whether a watcher serves the outbox.
func (h *heartbeatMonitor) update(m *Manager) {
	beat, err := m.heartbeat()
	now := time.Now()
	h.err = err
	switch {
	case h.first.IsZero():
		h.firstLook(beat, now)
	case err == nil:
		h.never = false
		if !beat.BeatAt.Equal(h.beat.BeatAt) {
			h.moved = now
		}
		h.beat = beat
	}
	h.absence = h.absenceNow(m, now)
}

// firstLook takes the first look. If a beat is not yet too old, the watcher still gets the time for one more beat,
// because it may have died right after this one.
func (h *heartbeatMonitor) firstLook(beat delegation.Heartbeat, now time.Time) {
	h.beat, h.first, h.moved, h.never = beat, now, now, errors.Is(h.err, fs.ErrNotExist)
	if h.err != nil {
		return
	}
	age := now.Sub(beat.BeatAt)
	if limit := deadBeats * interval(beat); age <= limit {
		age = min(age, limit-interval(beat))
	}
	h.moved = now.Add(-max(age, 0))
}

// absenceNow returns why no watcher serves, or nil while one does. A watcher that is about to stop still works.
func (h *heartbeatMonitor) absenceNow(m *Manager, now time.Time) *NobodyServingError {
	if h.never {
		return m.absence(h.beat, h.err, 0)
	}
	still := now.Sub(h.moved)
	nobody := m.absence(h.beat, nil, still)
	if nobody == nil || nobody.Stopping {
		return nil
	}
	if !nobody.Stopped && !errors.Is(h.err, fs.ErrNotExist) {
		nobody.Cause = h.err
	}
	return nobody
}

// absentFor reports that no watcher has served for longer than patience, and that we looked long enough to know.
func (h *heartbeatMonitor) absentFor(patience time.Duration) bool {
	now := time.Now()
	switch {
	case h.absence == nil:
		return false
	case h.never:
		return true
	case h.absence.silent() && now.Sub(h.first) < secondLook(h.beat):
		return false
	}
	return now.Sub(h.moved) >= patience
}
