package output

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// shown has a child's events at the times at which they were published, as the owner of the output does it: it takes a chunk, and flushes when that
// is due.
func shown(t *testing.T, says map[time.Duration]int, until time.Duration) (at []time.Duration) {
	t.Helper()
	begin := time.Now()
	live := &Live{
		Remove: func(int) {}, Report: func(err error) { t.Error(err) },
		Publish: func(_ int, events []delegation.Event) error {
			for range events {
				at = append(at, time.Since(begin))
			}
			return nil
		},
	}
	o := &Child{Live: live, Agent: true, Started: true}
	chunks := make(chan string)
	go func() {
		for now := time.Duration(0); now <= until; now += time.Millisecond {
			for range says[now] {
				chunks <- fmt.Sprintf(`{"type":"text","text":%q}`+"\n", now)
			}
			<-time.After(time.Millisecond)
		}
		close(chunks)
	}()
	flush := time.NewTimer(SegmentAge)
	for {
		select {
		case text, open := <-chunks:
			if !open {
				return at
			}
			o.Take(sandbox.Chunk{Stream: sandbox.Stdout, Bytes: []byte(text)})
		case <-flush.C:
			live.Flush()
		}
		flush.Reset(live.Due())
	}
}

// TestAnEventIsShownSoon: the first one of a quiet stream at once, and what an agent says right after it a moment later, for ten seconds of lines that
// come one by one. For an agent that never stops the number of segments is bounded.
func TestAnEventIsShownSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shown(t, map[time.Duration]int{1000 * time.Millisecond: 1, 1001 * time.Millisecond: 2, 1030 * time.Millisecond: 1}, 2*time.Second)
		want := []int64{1000, 1001 + 2, 1001 + 2, 1030 + 2}
		if len(at) != len(want) {
			t.Fatalf("shown at %v", at)
		}
		for i := range want {
			if at[i].Milliseconds() != want[i] {
				t.Errorf("event %d is shown at %v, and not at %d ms", i, at[i], want[i])
			}
		}
	})
	for _, flow := range []struct {
		every, each int // milliseconds between two moments, and events in each
		lasts       time.Duration
		soon        bool
	}{{8, 1, 10 * time.Second, true}, {1, 1, time.Minute, false}, {20, 50, time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			says, begin := map[time.Duration]int{}, time.Now()
			for ms := 0; ms < int(flow.lasts.Milliseconds()); ms += flow.every {
				says[time.Duration(ms)*time.Millisecond] = flow.each
			}
			segments := map[time.Duration]bool{}
			for i, at := range shown(t, says, flow.lasts) {
				segments[at] = true
				if said := time.Duration(i/flow.each*flow.every) * time.Millisecond; flow.soon && at-said > 2*gather {
					t.Fatalf("what is said at %v is shown at %v", said, at)
				}
			}
			if most := earlyBurst + int(time.Since(begin)/earlyEach) + int(time.Since(begin)/SegmentAge) + 1; len(segments) > most {
				t.Errorf("%d events each %d ms make %d segments in %v, more than %d", flow.each, flow.every, len(segments), flow.lasts, most)
			}
		})
	}
}
