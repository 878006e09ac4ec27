package manager

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"torno/delegation"
)

// Events yields the run's live output and states in order, from the event with the number from, which counts from 1.
// Where output was lost, because the host dropped it or took away its segment before it was read, there is an event of
// type gap. With follow it goes on until the run is over; otherwise it ends with what is there. An error comes last.
//
// The host keeps a bounded number of segments and removes them with the request, so once Wait has returned there are
// none.
func (r *Run) Events(ctx context.Context, from int64, follow bool) iter.Seq2[delegation.Event, error] {
	return func(yield func(delegation.Event, error) bool) {
		from = max(from, 1)
		s := stream{vigil: vigil{run: r}, from: from, event: from, segment: 1, yield: yield}
		if err := s.pump(ctx, follow); err != nil && !errors.Is(err, errEnough) {
			yield(delegation.Event{}, err)
		}
	}
}

// stream reads segments one after the other.
type stream struct {
	vigil
	from    int64 // the first event that is wanted
	event   int64 // the one that should come next
	inGap   bool  // the last one was a gap
	segment int   // that should come next
	relist  time.Time
	yield   func(delegation.Event, error) bool
}

// pump yields what there is and waits for more, until the run is over. Whether it is over is asked before the last
// reading, so that nothing written before the end is missed.
func (s *stream) pump(ctx context.Context, follow bool) error {
	wake, unsubscribe := s.run.m.hints.subscribe(s.concerns)
	defer unsubscribe()
	tick := time.NewTicker(s.run.m.poll)
	defer tick.Stop()
	for {
		over := !follow
		if follow {
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

// concerns says whether a file may hold more events or end them.
func (s *stream) concerns(name string) bool {
	if s.run.concerns(name) {
		return true
	}
	_, ok := s.run.segment(name)
	return ok
}

// lastSegment is far behind any that a host writes. Counting does not go beyond it, whatever files claim.
const lastSegment = 1 << 30

// segment is which of the run's segments a file is.
func (r *Run) segment(name string) (int, bool) {
	id, hash, number, ok := delegation.ParseEventsName(name)
	return number, ok && number <= lastSegment && id == r.ID() && hash == r.request.Hash()
}

// over says whether no more segments will come.
func (s *stream) over() (bool, error) {
	response, err := s.look()
	if errors.Is(err, ErrGone) || errors.Is(err, ErrSuperseded) {
		return true, nil
	}
	return response != nil, err
}

// drain yields every segment that is there.
func (s *stream) drain(ctx context.Context, last bool) error {
	for {
		there, err := s.read()
		if err != nil {
			return err
		}
		if !there {
			next, err := s.later(ctx, last)
			if err != nil || next == 0 {
				return err
			}
			s.segment = next
			if _, err := s.read(); err != nil {
				return err
			}
		}
		s.segment++ // it was read, or was taken away since it was listed
	}
}
