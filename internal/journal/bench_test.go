package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modernc.org/sqlite"

	"torno/delegation"
)

// BenchmarkRun is what a run costs in the journal: Begin and three moves. Beside it stand the commits, each of which is
// one sync of the log (strace says so), and what one sync costs on the same disk in the same minute.
func BenchmarkRun(b *testing.B) {
	ctx := context.Background()
	path := state(b)
	j := open4test(b, path)
	commits := countCommits(b, j)
	zero := 0
	moves := []delegation.State{delegation.StateQueued, delegation.StateStarting, delegation.StateRunning, delegation.StateEnded}
	b.ResetTimer()
	for i := range b.N {
		r := begin(b, j, queued(b, "main", "a", fmt.Sprint(i)))
		for n, to := range moves[1:] {
			change := Change{}
			if to == delegation.StateEnded {
				change = Change{Reason: delegation.ReasonExited, ExitCode: &zero, StdoutTail: "done", Answered: true}
			}
			if err := j.Move(ctx, r.Key, moves[n], to, change); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(*commits)/float64(b.N), "syncs/op")
	b.ReportMetric(float64(oneSync(b, filepath.Dir(path)).Nanoseconds()), "ns/sync")
}

// countCommits counts on the writer's only connection.
func countCommits(b *testing.B, j *Journal) *int {
	b.Helper()
	commits := new(int)
	conn, err := j.write.Conn(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	err = conn.Raw(func(c any) error {
		c.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 { *commits++; return 0 })
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return commits
}

// oneSync writes a page and syncs it, as a commit does, and returns the mean of some.
func oneSync(b *testing.B, dir string) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const times = 50
	start := time.Now()
	for range times {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start) / times
}

func BenchmarkByFileMiss(b *testing.B) {
	j := open4test(b, state(b))
	r := begin(b, j, queued(b, "main", "a", "r1"))
	for i := range b.N {
		if _, _, err := j.ByFile(context.Background(), "main", r.FileName, stampOf(int64(i+100))); err != nil {
			b.Fatal(err)
		}
	}
}
