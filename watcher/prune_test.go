package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"torno/internal/journal"
	"torno/test/attack"
	"torno/watcher/limit"
)

// cellar is an archive that notes what is asked of it.
type cellar struct {
	rows    int // that are over
	left    map[string]bool
	pieces  []time.Time // when something was pruned, dropped or given back
	took    time.Duration
	keys    int
	shrinks int
	fault   func() error // or nil
}

func (s *cellar) OverSince(context.Context, string, journal.Retention, time.Time) (time.Time, error) {
	if s.fault != nil {
		return time.Now(), s.fault()
	}
	return time.Now(), nil
}

func (s *cellar) ListOver(_ context.Context, _ string, _ time.Time, after journal.Over, limit int) (rows []journal.Over, err error) {
	begin := 0
	if after.Key != "" {
		fmt.Sscan(after.Key, &begin)
		begin++
	}
	for i := begin; i < s.rows && len(rows) < limit; i++ {
		rows = append(rows, journal.Over{Key: fmt.Sprint(i)})
	}
	return rows, nil
}

func (s *cellar) Forget(_ context.Context, rows []journal.Over) error {
	for _, r := range rows {
		delete(s.left, r.Key)
	}
	return s.piece()
}

func (s *cellar) piece() error {
	s.pieces = append(s.pieces, time.Now())
	time.Sleep(s.took)
	return nil
}

func (s *cellar) OutboxesWithKeys(context.Context) ([]string, error) { return []string{"gone"}, nil }

func (s *cellar) KeysSince(_ context.Context, _ string, r journal.Retention, now time.Time) (time.Time, error) {
	return now.Add(-r.MaxRequestAge), nil
}

func (s *cellar) DropKeys(context.Context, string, time.Time, int) (bool, error) {
	s.keys--
	return s.keys >= 0, s.piece()
}

func (s *cellar) Shrink(context.Context) (bool, error) {
	s.shrinks--
	return s.shrinks >= 0, s.piece()
}

func newCellar(rows int) *cellar {
	s := &cellar{rows: rows, left: make(map[string]bool)}
	for i := range rows {
		s.left[fmt.Sprint(i)] = true
	}
	return s
}

func prunerOf(s *cellar, gone func(string) (bool, error)) *pruner {
	return &pruner{
		archive: s, outboxes: []string{"main"}, now: time.Now, log: slog.New(slog.DiscardHandler), share: limit.Share{Of: pruneShare},
		gone: func(_ context.Context, _ string, row journal.Over) (bool, error) { return gone(row.Key) },
	}
}

func TestOnlyWhatIsGoneIsPruned(t *testing.T) {
	s := newCellar(100)
	p := prunerOf(s, func(key string) (bool, error) { return len(key) == 1, nil })
	if err := p.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.left) != 90 || s.left["7"] || !s.left["70"] {
		t.Errorf("%d rows are left", len(s.left))
	}
}

func TestWhatCannotBeLookedAtEndsTheRound(t *testing.T) {
	s := newCellar(100)
	p := prunerOf(s, func(string) (bool, error) { return true, errors.New("no disk") })
	if err := p.round(t.Context()); err == nil || len(s.left) != 100 {
		t.Errorf("%v, %d rows are left", err, len(s.left))
	}
}

// TestPruningGivesWay: after each piece there is a rest in proportion, so that runs get the journal in between.
func TestPruningGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCellar(5 * pruneBatch)
		s.took, s.keys, s.shrinks = 2*time.Millisecond, 3, 3
		p := prunerOf(s, func(string) (bool, error) { return true, nil })
		if err := p.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.left) != 0 || len(s.pieces) != 5+4+4 {
			t.Errorf("%d rows are left, there were %d pieces", len(s.left), len(s.pieces))
		}
		for i := 1; i < 5; i++ {
			if rest := s.pieces[i].Sub(s.pieces[i-1]); rest < pruneShare*s.took {
				t.Errorf("piece %d came %s after the one before", i, rest)
			}
		}
	})
}

func TestPruningGoesOnAfterTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCellar(10)
		begin, pruned := time.Now(), make(chan int, 1)
		s.fault = func() error {
			if time.Since(begin) < pruneEvery {
				pruned <- 10 - len(s.left)
				return errors.New("locked")
			}
			return nil
		}
		p := prunerOf(s, func(string) (bool, error) { return true, nil })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.loop(ctx); close(done) }()
		if n := <-pruned; n != 0 {
			t.Errorf("%d rows were pruned in spite of the trouble", n)
		}
		time.Sleep(pruneEvery + time.Second)
		synctest.Wait()
		cancel()
		<-done
		if len(s.left) != 0 {
			t.Errorf("%d rows are left", len(s.left))
		}
	})
}

// pruneNow has the watcher's own pruner go round once, with everything that has ended over its bounds.
func (d *desk) pruneNow() {
	d.Helper()
	p := d.watcher.newPruner()
	p.bounds = journal.Retention{Age: time.Nanosecond, MaxRequestAge: time.Hour}
	d.must(p.round(d.Context()))
}

// TestARequestThatLiesThereKeepsItsRow is invariant I10. The second half is the oracle: without its request the row goes.
func TestARequestThatLiesThereKeepsItsRow(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	d.response(a)
	d.ended(a)
	d.pruneNow()
	if r := d.latest("s1"); r.Request.String() != a.request {
		t.Errorf("the row is that of %s", r.Request)
	}
	d.remove("request_s1.json")
	d.pruneNow()
	if _, ok, err := d.journal.Latest(t.Context(), d.box("main"), mustID(d, "s1")); ok || err != nil {
		t.Errorf("the row is still there, %v", err)
	}
}

// TestRetentionGoesByTheTimeThatIsBelieved: a clock that has jumped and is not believed makes nothing old that ended just now, and nothing young.
func TestRetentionGoesByTheTimeThatIsBelieved(t *testing.T) {
	for name, years := range map[string]int{"the clock is far back": 1, "the clock is far ahead": -1} {
		t.Run(name, func(t *testing.T) {
			var later atomic.Int64
			d := newDesk(t, func(c *Config) {
				c.Retention = journal.Retention{Age: time.Hour}
				c.Now = func() time.Time { return time.Now().AddDate(years, 0, 0).Add(time.Duration(later.Load())) }
			})
			a := d.submit(ask{id: "s1", task: "echo"})
			d.response(a)
			d.ended(a)
			d.remove("request_s1.json")
			p := d.watcher.newPruner()
			d.must(p.round(d.Context()))
			if n := len(d.rows()); n != 1 {
				t.Errorf("a run has ended just now, and %d rows are left", n)
			}
			later.Store(int64(2 * time.Hour))
			d.must(p.round(d.Context()))
			if n := len(d.rows()); n != 0 {
				t.Errorf("the run is too old, and %d rows are left", n)
			}
		})
	}
}

// TestAnotherRequestOfTheNameKeepsNobodysRow: a client that replaces its request again and again cannot fill the journal.
// A watcher that does not prune has a row of each.
func TestAnotherRequestOfTheNameKeepsNobodysRow(t *testing.T) {
	const asked = 12
	d := newDesk(t, nil)
	for n := range asked {
		a := d.submit(ask{id: "s1", request: fmt.Sprint("r", n), task: "echo"})
		d.response(a)
		d.ended(a)
	}
	kept := len(d.rows())
	d.pruneNow()
	left := d.rows()
	if len(left) != 1 || left[0].Request.String() != fmt.Sprint("r", asked-1) {
		t.Errorf("%d rows are left", len(left))
	}
	attack.Record(t, attack.Trial{Row: "X14", Where: "fake", Tried: asked - 1, Held: kept - len(left), Oracle: kept == asked})
}

// rows are all that the journal has.
func (d *desk) rows() []journal.Run {
	d.Helper()
	runs, err := d.journal.List(d.Context(), journal.Query{})
	d.must(err)
	return runs
}
