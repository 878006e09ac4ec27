package outbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/watcher/limit"
	"torno/watcher/run"
)

// work has a test say how much of a processor is used.
func (c *costs) work() (use func(time.Duration)) {
	var used time.Duration
	c.meters.Thread = func() time.Duration { return used }
	return func(d time.Duration) { used += d }
}

// noRuns are none. Another goroutine says so, as a schedule's does.
type noRuns struct{ runs }

func (noRuns) Newest(context.Context, string, delegation.SubagentID) *run.Run {
	none := make(chan *run.Run)
	go func() { none <- nil }()
	return <-none
}

// scanOf is a scan of an empty outbox whose goroutine is the test's.
func scanOf(t testing.TB) *scan {
	return newScan(newBox(t, Host{Runs: noRuns{}}, Settings{}))
}

// TestTimeThatStoodStillIsNoWork: the process is frozen in the middle of an event, for ten seconds and for a day. It looks at
// the next event at once.
func TestTimeThatStoodStillIsNoWork(t *testing.T) {
	for _, frozen := range []time.Duration{10 * time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c, start := newCosts(), time.Now()
			use := c.work()
			c.calmly(t.Context(), func() {
				time.Sleep(frozen)
				use(time.Millisecond)
			})
			if rested := time.Since(start) - frozen; rested > 0 {
				t.Errorf("it rested for %s", rested)
			}
			begin := time.Now()
			c.calmly(t.Context(), func() { use(time.Millisecond) })
			if deaf := time.Since(begin); deaf > 0 {
				t.Errorf("frozen for %s, it is deaf for %s more", frozen, deaf)
			}
		})
	}
}

// TestOneRestIsShort however much work there was, and the share is kept all the same: the rest is owed.
func TestOneRestIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := limit.Share{Of: 2, Longest: limit.LongestRest}
		begin := time.Now()
		time.Sleep(10 * time.Second)
		p.Pause(t.Context(), 10*time.Second)
		if rested := time.Since(begin) - 10*time.Second; rested != limit.LongestRest {
			t.Errorf("it rested %s at once", rested)
		}
		for range 20 {
			p.Pause(t.Context(), 0)
		}
		if all := time.Since(begin); all != 20*time.Second {
			t.Errorf("for ten seconds of work it took %s in all", all)
		}
	})
}

// TestAListingsPauseHasACap however much there is to list: 20,000 answered requests made it two and a half minutes.
func TestAListingsPauseHasACap(t *testing.T) {
	for cost, want := range map[time.Duration]time.Duration{
		0: listAtLeast, 50 * time.Millisecond: 5 * time.Second, 1540 * time.Millisecond: listAtMost, time.Hour: listAtMost,
	} {
		if pause := pauseAfter(cost); pause != want {
			t.Errorf("after a listing of %s there is a pause of %s, want %s", cost, pause, want)
		}
	}
}

// TestAnAnswerThatCouldNotBeWrittenIsTriedSoon, and not with the next listing, while as many requests wait for a second look
// as there is room for.
func TestAnAnswerThatCouldNotBeWrittenIsTriedSoon(t *testing.T) {
	s := scanOf(t)
	ctx := t.Context()
	for i := range maxDelayed {
		s.later.looks[fmt.Sprint("request_junk", i, ".json")] = time.Now().Add(time.Hour)
	}
	s.owe("request_s1.json")
	s.later.answer(<-s.owed)
	if next := s.later.next(); next > dueAgain {
		t.Fatalf("it is tried again in %s", next)
	}
	left := filepath.Join(s.Dir.Path(), "response_s1.json")
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.lookAgain(ctx, time.Now().Add(dueAgain))
	if _, err := os.Stat(left); err == nil || len(s.later.answers) > 0 { // its request is gone, so what is left of it is
		t.Errorf("it was not looked at: %v; %d are due", err, len(s.later.answers))
	}
	for i := range 2 * maxDue {
		s.later.answer(fmt.Sprint("request_", i, ".json"))
	}
	if len(s.later.answers) != maxDue {
		t.Errorf("%d are due", len(s.later.answers))
	}
}
