package manager

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"torno/delegation"
)

// Events yields the run's live output and states in order, beginning with the event number from, which counts from 1.
// If output was lost, because the host dropped it or removed its segment before it was read, Events yields an event of
// type gap. With follow it continues until the run is over; otherwise it ends with the events that exist now. An error
// comes last.
//
// The host keeps a bounded number of segments and removes them with the request, so none are left once Wait has
// returned.
func (r *Run) Events(ctx context.Context, from int64, follow bool) iter.Seq2[delegation.Event, error] {
	return func(yield func(delegation.Event, error) bool) {
		from = max(from, 1)
		s := stream{tracker: tracker{run: r}, from: from, event: from, segment: 1, yield: yield}
		if err := s.follow(ctx, follow); err != nil && !errors.Is(err, errEnough) {
			yield(delegation.Event{}, err)
		}
	}
}

// stream reads segments one after the other.
type stream struct {
	tracker
	from    int64 // the first event that the caller wants
	event   int64 // the number of the next event
	inGap   bool  // the last event was a gap
	segment int   // the next segment
	relist  time.Time
	yield   func(delegation.Event, error) bool
}

// follow yields the existing events and, with wait, waits for more until the run is over. It asks whether the run is
// over before it reads for the last time, so it misses nothing that was written before the end.
func (s *stream) follow(ctx context.Context, wait bool) error {
	wake, unsubscribe := s.run.m.hints.subscribe(s.concerns)
	defer unsubscribe()
	tick := time.NewTicker(s.run.m.poll)
	defer tick.Stop()
	for {
		over := !wait
		if wait {
			var err error
			if over, err = s.over(); err != nil {
				return err
			}
		}
		if err := s.drain(ctx, over); err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("follow %s: %w", s.run.id, endOf(ctx))
		case <-wake:
		case <-tick.C:
		}
	}
}

// concerns reports whether a file may hold more events or end them.
func (s *stream) concerns(name string) bool {
	if s.run.concerns(name) {
		return true
	}
	_, ok := s.run.segment(name)
	return ok
}

// lastSegment is far above any number that a host uses. Counting stops there, whatever files claim.
const lastSegment = 1 << 30

// segment returns the number of a segment of this run, by its file's name.
func (r *Run) segment(name string) (int, bool) {
	id, hash, number, ok := delegation.ParseEventsName(name)
	return number, ok && number <= lastSegment && id == r.ID() && hash == r.request.Hash()
}

// over reports whether no more segments will come.
func (s *stream) over() (bool, error) {
	response, err := s.check()
	if errors.Is(err, ErrGone) || errors.Is(err, ErrSuperseded) {
		return true, nil
	}
	return response != nil, err
}

// drain yields every segment that is there.
func (s *stream) drain(ctx context.Context, last bool) error {
	for {
		there, err := s.readSegment()
		if err != nil {
			return err
		}
		if !there {
			next, err := s.nextSegment(ctx, last)
			if err != nil || next == 0 {
				return err
			}
			s.segment = next
			if _, err := s.readSegment(); err != nil {
				return err
			}
		}
		s.segment++ // the segment was read, or was removed since it was listed
	}
}
