package manager

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
)

// readSegment yields the events of the next segment and reports whether the segment is there. A segment that cannot be
// read whole becomes a gap.
func (s *stream) readSegment() (bool, error) {
	if s.segment > lastSegment {
		return false, nil
	}
	name := delegation.EventsName(s.run.id, s.run.request, s.segment)
	data, err := s.run.m.read(name, delegation.MaxSegment)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var events []delegation.Event
	if err == nil {
		events, err = delegation.DecodeEvents(data)
	}
	for _, e := range events {
		if err := s.deliver(e); err != nil {
			return true, err
		}
	}
	if err != nil {
		s.run.m.log.Debug("segment not readable", "name", name, "error", err)
		return true, s.deliver(delegation.Event{Seq: s.event, Type: delegation.EventGap})
	}
	return true, nil
}

// deliver yields one event. If the event's number shows that earlier events are missing, it yields a gap first. It ends
// the stream with errEnough after the last event, or when the caller wants no more.
func (s *stream) deliver(e delegation.Event) error {
	if e.Seq < s.from {
		return nil
	}
	isGap := e.Type == delegation.EventGap
	if e.Seq > s.event && !isGap && !s.inGap {
		if !s.yield(delegation.Event{Seq: s.event, Time: e.Time, Type: delegation.EventGap}, nil) {
			return errEnough
		}
	}
	s.event, s.inGap = max(s.event, e.Seq+1), isGap
	if !s.yield(e, nil) || e.Type == delegation.EventState && e.State == delegation.StateEnded {
		return errEnough
	}
	return nil
}

// nextSegment finds the first segment after the missing one, and returns 0 if there is none. It must list the outbox,
// which may hold any number of files, so it spends at most two per cent of the time on listings. The last listing, when
// the run is over, is made at once.
func (s *stream) nextSegment(ctx context.Context, last bool) (int, error) {
	began := time.Now()
	if began.Before(s.relist) && !last {
		return 0, nil
	}
	first := 0
	err := s.run.m.dir.Names(ctx, 256, func(names []string) error {
		for _, name := range names {
			if n, ok := s.run.segment(name); ok && n >= s.segment && (first == 0 || n < first) {
				first = n
			}
		}
		return nil
	})
	now := time.Now()
	s.relist = now.Add(max(time.Second, 50*now.Sub(began)))
	return first, err
}
