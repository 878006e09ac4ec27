package journal

import (
	"context"
	"testing"
	"time"

	"torno/delegation"
)

// TestAHundredThousandRuns holds what is asked of a large journal against a bound that a loaded machine with the race detector keeps too.
// A thousand runs are listed; reading all of them would take a hundred times as long.
func TestAHundredThousandRuns(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	path := state(t)
	j := first(Open(context.Background(), path))
	begin(t, j, full(t))
	multiply(t, j, n)
	must(t, j.Close())
	start, list, named := time.Hour, time.Hour, time.Hour
	for range 5 { // load only adds
		s, l, n := ask(t, path)
		start, list, named = min(start, s), min(list, l), min(named, n)
	}
	t.Logf("with %d runs: start %s, list %s, one by name %s", n, start, list, named)
	if start > 2*time.Second {
		t.Errorf("it takes %s to open", start)
	}
	if list > 4*time.Second || named > time.Second {
		t.Errorf("it takes %s to list, %s to find one", list, named)
	}
}

// BenchmarkAHundredThousandRuns is the same in figures.
func BenchmarkAHundredThousandRuns(b *testing.B) {
	path := state(b)
	j := first(Open(context.Background(), path))
	begin(b, j, full(b))
	multiply(b, j, 100_000)
	must(b, j.Close())
	var start, list, named time.Duration
	for range b.N {
		s, l, n := ask(b, path)
		start, list, named = start+s, list+l, named+n
	}
	b.ReportMetric(float64(start.Milliseconds())/float64(b.N), "ms/start")
	b.ReportMetric(float64(list.Microseconds())/1000/float64(b.N), "ms/list")
	b.ReportMetric(float64(named.Microseconds())/1000/float64(b.N), "ms/name")
}

// ask opens a journal as a watcher does, and asks as `watcher ps` and `watcher show` do.
func ask(t testing.TB, path string) (start, list, named time.Duration) {
	t.Helper()
	ctx := context.Background()
	begin := time.Now()
	j, err := Open(ctx, path)
	must(t, err)
	defer j.Close()
	_, err = j.Unfinished(ctx, 0, defaultLimit)
	must(t, err)
	start, begin = time.Since(begin), time.Now()
	_, err = j.List(ctx, Query{ActiveOnly: true})
	must(t, err)
	if runs, err := j.List(ctx, Query{Limit: 1000}); err != nil || len(runs) != 1000 {
		t.Fatal(len(runs), err)
	}
	list, begin = time.Since(begin), time.Now()
	if runs, err := j.Named(ctx, "", "helper-1"); err != nil || len(runs) != 1 || runs[0].State != delegation.StateEnded {
		t.Fatal(runs, err)
	}
	return start, list, time.Since(begin)
}
