package docker_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"torno/sandbox/docker"
)

// BenchmarkColdRun is a whole run whose agent does nothing, and how long its news takes: from the agent's end, as the
// engine dates it, until Wait returns and until the output is closed.
func BenchmarkColdRun(b *testing.B) {
	f := newField(b, docker.MountAuto)
	var waited, closed, created, started []time.Duration
	for b.Loop() {
		begin := time.Now()
		h := f.create(f.spec("/bin/true"))
		created = append(created, time.Since(begin))
		begin = time.Now()
		a := f.start(h)
		started = append(started, time.Since(begin))
		var drained sync.WaitGroup
		var end time.Time
		drained.Go(func() {
			for range a.Output() {
			}
			end = time.Now()
		})
		exit, err := a.Wait(f.ctx)
		now := time.Now()
		drained.Wait()
		if err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
		waited = append(waited, now.Sub(exit.FinishedAt))
		closed = append(closed, end.Sub(exit.FinishedAt))
		f.remove(h)
	}
	for name, all := range map[string][]time.Duration{"create": created, "start": started, "exit-to-wait": waited, "exit-to-closed": closed} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, name+"-p99-ms")
	}
}

// BenchmarkAttest is the look at a sandbox that holds: what every run waits for between its start and its release.
func BenchmarkAttest(b *testing.B) {
	f := newField(b, docker.MountAuto)
	h := f.create(f.spec("/bin/true"))
	defer f.remove(h)
	a := f.begin(h)
	<-a.Output() // it holds
	b.ReportAllocs()
	for b.Loop() {
		if seen, err := f.Attest(f.ctx, h); err != nil || !seen.Attested {
			b.Fatalf("%+v, %v", seen, err)
		}
	}
}
