package manager

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// A watcher counts as dead after deadBeats intervals without a sign, whatever interval it claims.
const (
	deadBeats       = 3
	maxInterval     = 5 * time.Minute
	defaultInterval = 5 * time.Second // before any beat was seen
	maxSecondLook   = 5500 * time.Millisecond
)

// Serving returns the watcher's heartbeat, or a *NobodyServingError if no watcher is alive. It compares the beat with
// our clock, so it returns at once.
func (m *Manager) Serving() (delegation.Heartbeat, error) {
	beat, err := m.heartbeat()
	if absence := m.absence(beat, err, time.Since(beat.BeatAt)); absence != nil {
		return beat, absence
	}
	return beat, nil
}

// served does the same as Serving, for a caller that has time. After a jump of a clock a living watcher's beat may look
// old, so served waits for the next beat.
func (m *Manager) served(ctx context.Context) (delegation.Heartbeat, error) {
	beat, err := m.Serving()
	if nobody, ok := errors.AsType[*NobodyServingError](err); !ok || !nobody.silent() {
		return beat, err
	}
	tick := time.NewTicker(min(m.poll, maxSecondLook/10))
	defer tick.Stop()
	for until := time.Now().Add(secondLook(beat)); time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return beat, endOf(ctx)
		case <-tick.C:
		}
		next, unread := m.heartbeat()
		if unread == nil && !next.BeatAt.Equal(beat.BeatAt) {
			if absence := m.absence(next, nil, 0); absence != nil {
				return next, absence
			}
			return next, nil
		}
	}
	return beat, err
}

// absence returns why no watcher serves the outbox, as far as a heartbeat of the given age tells, or nil.
func (m *Manager) absence(beat delegation.Heartbeat, err error, age time.Duration) *NobodyServingError {
	dead := age > deadBeats*interval(beat)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &NobodyServingError{Outbox: m.Outbox()}
	case err != nil:
		return &NobodyServingError{Outbox: m.Outbox(), Cause: err}
	case beat.Stopped || beat.Stopping && dead:
		return &NobodyServingError{Outbox: m.Outbox(), LastBeat: beat.BeatAt, Stopped: true}
	case dead:
		return &NobodyServingError{Outbox: m.Outbox(), LastBeat: beat.BeatAt}
	case beat.Stopping:
		return &NobodyServingError{Outbox: m.Outbox(), LastBeat: beat.BeatAt, Stopping: true}
	}
	return nil
}

func (m *Manager) heartbeat() (delegation.Heartbeat, error) {
	data, err := m.read(delegation.HeartbeatName, maxHeartbeat)
	if err != nil {
		return delegation.Heartbeat{}, err
	}
	return delegation.DecodeHeartbeat(data)
}

// interval returns the time between two beats that a watcher claims, up to maxInterval.
func interval(beat delegation.Heartbeat) time.Duration {
	return min(cmp.Or(time.Duration(beat.HeartbeatSeconds)*time.Second, defaultInterval), maxInterval)
}

// secondLook returns how long to watch a beat that seems to stand still. A watcher with a longer interval may be called
// dead too early, which is better than a long wait.
func secondLook(beat delegation.Heartbeat) time.Duration {
	return min(interval(beat)*11/10, maxSecondLook)
}
