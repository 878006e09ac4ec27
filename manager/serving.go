package manager

import (
	"cmp"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// A watcher is called dead after this many beats without a sign, whatever interval it claims.
const (
	deadBeats       = 3
	maxInterval     = 5 * time.Minute
	defaultInterval = 5 * time.Second // before any beat was seen
)

// Serving returns the watcher's heartbeat, or a *NobodyServingError when there is none that is alive. The beat is
// compared with our clock, so that the answer comes at once.
func (m *Manager) Serving() (delegation.Heartbeat, error) {
	beat, err := m.heartbeat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return beat, &NobodyServingError{Outbox: m.Outbox()}
	case err != nil:
		return beat, &NobodyServingError{Outbox: m.Outbox(), Cause: err}
	case time.Since(beat.BeatAt) > deadBeats*interval(beat):
		return beat, &NobodyServingError{Outbox: m.Outbox(), LastBeat: beat.BeatAt}
	case beat.Stopping:
		return beat, &NobodyServingError{Outbox: m.Outbox(), LastBeat: beat.BeatAt, Stopping: true}
	}
	return beat, nil
}

func (m *Manager) heartbeat() (delegation.Heartbeat, error) {
	data, _, err := m.read(delegation.HeartbeatName, maxHeartbeat)
	if err != nil {
		return delegation.Heartbeat{}, err
	}
	return delegation.DecodeHeartbeat(data)
}

// interval is how often a watcher says that it beats, within reason.
func interval(beat delegation.Heartbeat) time.Duration {
	return min(cmp.Or(time.Duration(beat.HeartbeatSeconds)*time.Second, defaultInterval), maxInterval)
}

// pulse follows a heartbeat over time. It trusts a beat that changes and never the clock of the other side, which may
// be another machine's: a beat from the future that stands still is as dead as an old one.
type pulse struct {
	beat  delegation.Heartbeat
	moved time.Time // by our clock
}

// feel looks at the heartbeat and says whether it is alive. The first look believes the beat's own age.
func (p *pulse) feel(m *Manager) error {
	beat, err := m.heartbeat()
	now := time.Now()
	switch {
	case p.moved.IsZero():
		p.beat, p.moved = beat, now
		if err == nil && now.Sub(beat.BeatAt) > deadBeats*interval(beat) || errors.Is(err, fs.ErrNotExist) {
			return &NobodyServingError{Outbox: m.Outbox(), LastBeat: beat.BeatAt}
		}
		return nil
	case err == nil && !beat.BeatAt.Equal(p.beat.BeatAt):
		p.beat, p.moved = beat, now
		return nil
	case now.Sub(p.moved) > deadBeats*interval(p.beat):
		return &NobodyServingError{Outbox: m.Outbox(), LastBeat: p.beat.BeatAt}
	}
	return nil
}
