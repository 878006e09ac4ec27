package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// BenchmarkDelegate is from a call to its answer; the request is in the outbox by then. A create of a file beside it is what the disk
// takes for the least of it.
func BenchmarkDelegate(b *testing.B) {
	s := newStage(b)
	s.beat(nil)
	p := s.serve(Options{Budgets: Budgets{Children: 1 << 20}})
	var took, least []time.Duration
	for i := range b.N {
		begin := time.Now()
		p.tool("delegate", fmt.Sprintf(`{"tasks":[{"id":"c%d","task":"x"}]}`, i))
		took = append(took, time.Since(begin))
		begin = time.Now()
		s.check(os.WriteFile(filepath.Join(s.origin, "beside"), []byte("x"), 0o600))
		least = append(least, time.Since(begin))
		b.StopTimer()
		s.remove(fmt.Sprintf("c%d", i))
		b.StartTimer()
	}
	report(b, "delegate", took)
	report(b, "create", least)
}

// remove takes a request away, as if it were long done.
func (s *stage) remove(id string) {
	s.Helper()
	parsed, err := delegation.ParseSubagentID(id)
	s.check(err)
	s.check(s.dir.Remove(delegation.RequestName(parsed)))
	s.check(os.RemoveAll(filepath.Join(s.path, "workspaces", id)))
}

// BenchmarkWait is from a response's rename to the answer of a wait, among 8 children.
func BenchmarkWait(b *testing.B) {
	s := newStage(b)
	s.beat(nil)
	p := s.serve(Options{Budgets: Budgets{Children: 1 << 20}})
	var took []time.Duration
	for i := range b.N {
		b.StopTimer()
		p.tool("delegate", fmt.Sprintf(`{"tasks":[{"id":"c%d","task":"x"}]}`, i))
		p.last++
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{}}}`, p.last))
		for len(p.server.waits) == 0 {
			runtime.Gosched()
		}
		b.StartTimer()
		s.end(fmt.Sprintf("c%d", i), delegation.Response{Status: delegation.StatusCompleted, Reason: delegation.ReasonExited}, "")
		begin := time.Now()
		p.hear()
		took = append(took, time.Since(begin))
		b.StopTimer()
		s.check(p.server.release(child{id: fmt.Sprintf("c%d", i), request: s.request(fmt.Sprintf("c%d", i)).RequestID.String()}))
		b.StartTimer()
	}
	report(b, "wait", took)
}

// BenchmarkStatus is calls of status beside 100 running children: of one of them, and of all.
func BenchmarkStatus(b *testing.B) {
	for _, c := range []struct{ name, arguments string }{{"one", `{"ids":["c50"]}`}, {"all", `{}`}} {
		b.Run(c.name, func(b *testing.B) {
			s := newStage(b)
			s.beat(nil)
			p := s.serve(Options{Budgets: Budgets{Children: 1000}})
			for i := range 100 {
				id := fmt.Sprintf("c%d", i)
				p.tool("delegate", fmt.Sprintf(`{"tasks":[{"id":%q,"task":"x"}]}`, id))
				s.status(id, delegation.RunStatus{State: delegation.StateRunning, RunningSince: time.Now()})
			}
			before, spent := heap(), processor()
			b.ResetTimer()
			for range b.N {
				p.tool("status", c.arguments)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric((processor()-spent).Seconds()*1000/float64(b.N), "cpu-ms/op") // of the client, too
			b.ReportMetric(float64(heap()-before)/1e6, "MB-grown")
		})
	}
}

// processor is the time that this process has had of the processor.
func processor() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func report(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, what+"-p99-ms")
}
