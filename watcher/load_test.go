package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/outbox"
)

// TestAThousandAtOnce drops requests in faster than they can run: none is lost, none runs twice, none shares. What they
// cost is counted in flushes; BenchmarkFlood has their time.
func TestAThousandAtOnce(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	d := newFlood(t, n)
	d.pour(n)
	flushes, _ := d.journal.Flushes()
	if flushes > 2*n {
		t.Errorf("%d flushes for %d runs: each has to be on the disk twice, and some share", flushes, n)
	}
	if ran := d.world.Released(); len(ran) != n {
		t.Errorf("%d runs for %d requests", len(ran), n)
	}
	d.onceEach()
	if most := d.world.MostOfAll(); most > 8 {
		t.Errorf("%d ran at once where 8 may", most)
	}
}

// BenchmarkFlood is the way of a request through journal and outbox when many come at once: what one costs must not grow with them.
func BenchmarkFlood(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint("at-once", n), func(b *testing.B) { flood(b, n) })
	}
}

// flood repeats a pour so often that a small one uses as much as a large one, of what the clock of the processor can tell apart.
func flood(b *testing.B, n int) {
	var took, bare, usual, used time.Duration
	var flushes, pours int
	var grown uint64
	for range b.N {
		for range max(1, 200/n) {
			d := newFlood(b, n)
			before, since := held(), processorTime(b)
			took += d.pour(n)
			used += processorTime(b) - since
			grown += max(held(), before) - before
			bare += bareLoop(b, d.outbox, n)
			now, each := d.journal.Flushes()
			flushes, usual, pours = flushes+now, each, pours+1
			d.stop()
		}
	}
	runs := float64(pours * n)
	b.ReportMetric(runs/took.Seconds(), "runs/s")
	b.ReportMetric(float64(used.Microseconds())/1000/runs, "ms-cpu/run")
	b.ReportMetric(float64(grown)/1024/runs, "KiB-held/run")
	b.ReportMetric(float64(flushes)/runs, "flushes/run")
	b.ReportMetric(float64(usual.Microseconds()), "µs/flush")
	b.ReportMetric(float64(took)/float64(bare), "of-bare-loop")
}

// processorTime is what this program has used so far, its kernel's part included.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestMemoryStaysFlat lets requests come and go and compares what is held after the first and after the last of them.
func TestMemoryStaysFlat(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	d := newFlood(t, n)
	d.pour(n / 10)
	before := held()
	for i := range n {
		d.submit(ask{id: numbered("more", i), task: "echo"})
	}
	most := held()
	for i := range n {
		d.response(ask{id: numbered("more", i), request: "r-" + numbered("more", i)})
		if i%100 == 0 {
			most = max(most, held())
		}
	}
	t.Logf("%.1f MB before, %.1f MB at most", float64(before)/1e6, float64(most)/1e6)
	if most > before+20e6 {
		t.Errorf("%d runs hold %d bytes more than those before", n, most-before)
	}
}

// held is what the program holds after what is not needed any more is gone.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// newFlood is a desk with eight slots and a queue for n.
func newFlood(t testing.TB, n int) *desk {
	return newLoneDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].MaxRunning, c.Outboxes[0].Queue = 8, 8, n })
}

// pour writes n requests beside the outbox, moves them all in, and returns how long it is until all are answered.
func (d *desk) pour(n int) time.Duration {
	d.Helper()
	aside := d.TempDir()
	asks := make([]ask, n)
	for i := range asks {
		workspace := filepath.Join(d.outbox, "workspaces", numbered("s", i))
		d.must(os.MkdirAll(workspace, 0o755))
		asks[i] = d.submit(ask{id: numbered("s", i), task: "echo", outbox: aside, workspace: workspace})
	}
	begin := time.Now()
	for _, a := range asks {
		name := "request_" + a.id + ".json"
		d.must(os.Rename(filepath.Join(aside, name), filepath.Join(d.outbox, name)))
	}
	for _, a := range asks {
		a.outbox = d.outbox
		d.settled(a)
	}
	took := time.Since(begin)
	for _, a := range asks {
		a.outbox = d.outbox
		if resp := d.response(a); resp.Status != delegation.StatusCompleted {
			d.Fatalf("%s: %+v %+v", a.id, resp, resp.Error)
		}
	}
	return took
}

// settled waits until there is a response. It looks seldom, as clients do that are many.
func (d *desk) settled(a ask) {
	d.Helper()
	path := filepath.Join(a.outbox, "response_"+a.id+".json")
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(3 * time.Millisecond) {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			d.Fatalf("%s is not answered", a.id)
		}
	}
}

// bareLoop makes, n times, what a run leaves (a response, a piece of live output, the agent's answer), each by a rename,
// and flushes twice. It is what a program would need that did nothing else.
func bareLoop(t testing.TB, dir string, n int) time.Duration {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	page, begin := make([]byte, 4096), time.Now()
	for i := range n {
		for _, name := range []string{"response", "events", "answer"} {
			if err := bareFile(filepath.Join(dir, fmt.Sprint("bare-", name, i)), page[:600]); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := log.Write(page); err != nil {
				t.Fatal(err)
			}
			if err := log.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return time.Since(begin)
}

func bareFile(path string, data []byte) error {
	if err := os.WriteFile(path+".tmp", data, 0o640); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// TestAQueuedRunIsCounted: what a run that waits is said to hold is what it holds, within a half, for a short task and for a long one. Of three
// rounds the one in the middle counts: what an earlier test held may be freed during one.
func TestAQueuedRunIsCounted(t *testing.T) {
	const n, rounds = 500, 3
	for _, size := range []int{100, 20_000} {
		d := newLoneDesk(t, func(c *Config) { c.MaxRunning, c.Outboxes[0].MaxRunning, c.Outboxes[0].Queue = 1, 1, (rounds+1)*n })
		release := d.gate()
		d.started(d.submit(ask{id: "first", task: "gated"})) // it has the one slot for as long as the test takes
		task := "echo " + strings.Repeat("x", size)
		wait := func(name string) float64 {
			for i := range n {
				d.submit(ask{id: numbered(name, i), task: task})
			}
			d.eventually("they wait", func() bool { return d.exists("status_" + numbered(name, n-1) + ".json") })
			return float64(held())
		}
		before := wait("warm")
		var each []float64
		for round := range rounds {
			now := wait(fmt.Sprint("more", round))
			each, before = append(each, (now-before)/n), now
		}
		slices.Sort(each)
		holds := each[rounds/2]
		counted := float64(outbox.HeldBy(make([]byte, size), sandbox.Spec{}))
		t.Logf("with %d bytes of task %.0f are held and %.0f are counted", size, holds, counted)
		if holds > 1.5*counted || counted > 2*holds {
			t.Errorf("a run with %d bytes of task holds %.0f and counts as %.0f", size, holds, counted)
		}
		release()
		d.stop()
	}
}
