package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/journal"
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
		archive: s, outboxes: []string{"main"}, log: slog.New(slog.DiscardHandler), thrift: thrift{share: pruneShare},
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

// TestPruningGivesWay: behind each piece there is a rest in proportion, so that runs get the journal in between.
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
	if _, ok, err := d.journal.Latest(t.Context(), "main", mustID(d, "s1")); ok || err != nil {
		t.Errorf("the row is still there, %v", err)
	}
}

// TestAnotherRequestOfTheNameKeepsNobodysRow: a client that replaces its request again and again cannot fill the journal.
func TestAnotherRequestOfTheNameKeepsNobodysRow(t *testing.T) {
	d := newDesk(t, nil)
	first := d.submit(ask{id: "s1", request: "r1", task: "echo"})
	d.response(first)
	d.ended(first)
	second := d.submit(ask{id: "s1", request: "r2", task: "echo"})
	d.response(second)
	d.ended(second)
	d.pruneNow()
	runs, err := d.journal.List(t.Context(), journal.Query{})
	if err != nil || len(runs) != 1 || runs[0].Request.String() != "r2" {
		t.Errorf("%d rows are left, %v", len(runs), err)
	}
}

// TestAPrunedRunDoesNotRunAgain brings a request back after its row is gone, and after its key is gone too. As long as
// one of key, horizon and age is asked, it is refused; the world counts what ran.
func TestAPrunedRunDoesNotRunAgain(t *testing.T) {
	for name, c := range map[string]struct {
		old  time.Duration // the age of the request
		drop bool          // the key too
	}{
		"the key is known":   {time.Minute, false},
		"the key is dropped": {2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			path := filepath.Join(d.outbox, "request_s1.json")
			a := d.submit(ask{id: "s1", task: "echo"})
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
			d.ended(a)
			body, err := os.ReadFile(path)
			d.must(err)
			d.remove("request_s1.json")
			d.pruneNow()
			if c.drop {
				_, err := d.journal.DropKeys(t.Context(), "main", time.Now().Add(time.Hour), 10)
				d.must(err)
			}
			d.eventually("the response is cleared", func() bool { return !d.exists("response_s1.json") })

			backup := filepath.Join(d.outbox, "from-the-backup")
			d.must(os.WriteFile(backup, body, 0o644))
			then := time.Now().Add(-c.old)
			d.must(os.Chtimes(backup, then, then))
			d.must(os.Rename(backup, path))
			resp := d.response(a)
			d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
			if resp.Error == nil || resp.Error.Code != delegation.CodeStale {
				t.Errorf("the response is %+v", resp)
			}
			if keys := d.world.Keys(); len(keys) != 1 || d.world.Started(keys[0]) != 1 {
				t.Errorf("%v ran", keys)
			}
		})
	}
}

func TestOldRequests(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		want delegation.Reason
	}{
		"a new one":           {0, delegation.ReasonExited},
		"an old one":          {59 * time.Minute, delegation.ReasonExited},
		"too old":             {61 * time.Minute, delegation.ReasonRefused},
		"a clock that leads":  {-time.Hour, delegation.ReasonExited},
		"from another future": {-journal.MaxSkew - time.Minute, delegation.ReasonRefused},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, func(c *Config) { c.Retention.MaxRequestAge = time.Hour })
			a := d.submitAged("s1", c.age)
			if resp := d.response(a); resp.Reason != c.want || c.want == delegation.ReasonRefused && resp.Error.Code != delegation.CodeStale {
				t.Errorf("the response is %+v, %+v", resp, resp.Error)
			}
		})
	}
}

// submitAged is submit for a file that was written elsewhere, at another time, and then moved.
func (d *desk) submitAged(id string, age time.Duration) ask {
	d.Helper()
	aside, workspace := d.TempDir(), filepath.Join(d.outbox, "workspaces", id)
	d.must(os.MkdirAll(workspace, 0o755))
	a := d.submit(ask{id: id, task: "echo", outbox: aside, workspace: workspace})
	path, then := filepath.Join(aside, "request_"+id+".json"), time.Now().Add(-age)
	d.must(os.Chtimes(path, then, then))
	d.must(os.Rename(path, filepath.Join(d.outbox, "request_"+id+".json")))
	a.outbox = d.outbox
	return a
}

// TestARequestThatWaitedHereIsNotTooOld: what the journal knows is taken up after any downtime.
func TestARequestThatWaitedHereIsNotTooOld(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	holder := d.submit(ask{id: "holder", task: "sleep"})
	d.started(holder)
	waits := d.submit(ask{id: "s1", task: "echo"})
	d.eventually("it waits", func() bool { return d.exists("status_s1.json") })
	d.crash()
	d.config.Retention.MaxRequestAge = time.Nanosecond
	d.open()
	d.remove("request_holder.json")
	d.want(d.response(waits), delegation.StatusCompleted, delegation.ReasonExited, 0)
}
