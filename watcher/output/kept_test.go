package output

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"torno/delegation"
)

// stays says which segments are there: the first, the last, and that none is missing between them.
func (s *shelf) stays(first, last int) {
	s.Helper()
	numbers := slices.Sorted(maps.Keys(s.segments))
	if len(numbers) != last-first+1 || numbers[0] != first || numbers[len(numbers)-1] != last {
		s.Errorf("%d segments, from %d to %d, and not all from %d to %d", len(numbers), numbers[0], numbers[len(numbers)-1], first, last)
	}
}

// fill has a live output publish segments of a size.
func fill(live *Live, segments, size int) {
	for range segments {
		live.grow(delegation.EventStdout, bytes.Repeat([]byte("x"), size))
		live.Flush()
	}
}

// TestSmallSegmentsStay: as many lines as an agent says in some seconds are there for a client that looks late. Of full segments there are 64.
func TestSmallSegmentsStay(t *testing.T) {
	full := segmentBytes - pieceCost
	for _, flow := range []struct{ segments, size, stay int }{
		{900, 100, 900}, {3000, 100, MaxSegments}, {200, full, fullKept}, {200, segmentBytes/2 - pieceCost, 2 * fullKept},
	} {
		t.Run(fmt.Sprint(flow), func(t *testing.T) {
			shelf := shelf{T: t}
			live := shelf.open()
			fill(live, flow.segments, flow.size)
			shelf.stays(flow.segments-flow.stay+1, flow.segments)
			if first, last := live.Span(); first != flow.segments-flow.stay+1 || last != flow.segments {
				t.Errorf("the span is %d to %d", first, last)
			}
		})
	}
	shelf := shelf{T: t}
	live := shelf.open()
	fill(live, 500, 100)
	fill(live, fullKept, full)
	shelf.stays(501, 500+fullKept)
}

// TestSegmentsOfAnEarlierWatcherCount: they are removed in their turn, and what is in them is not known, so that they count as full.
func TestSegmentsOfAnEarlierWatcherCount(t *testing.T) {
	for _, there := range []int{10, 2000} {
		shelf := shelf{T: t}
		live := shelf.open()
		fill(live, there, 100)
		next := shelf.more()
		(&Child{Live: next}).CountOn(Progress{Segment: there, Lines: int64(there)})
		fill(next, 1, 100)
		shelf.stays(max(1, there-fullKept+2), there+1)
		fill(next, 2000, 100)
		shelf.stays(there+2001-MaxSegments+1, there+2001)
	}
}
