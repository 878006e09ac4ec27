package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"torno/test/house"
)

// BenchmarkPreparedRun times from the rename of a request to init's started line, by a client: of a run that finds a sandbox ready,
// of one that makes its own, and a whole `docker run --rm --network none` of a program that does nothing, in turn. The ratios of the
// medians count.
func BenchmarkPreparedRun(b *testing.B) {
	e := house.NeedEngine(b)
	if _, err := exec.LookPath("docker"); err != nil {
		b.Skip("NOT SHOWN HERE: there is no docker command to compare with")
	}
	image := importNoop(b, e, noopRoot(b))
	const nothing = `  nothing:
    command: [/bin/true]
    answer: none
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
`
	plan := house.Plan{Sandbox: house.Docker, Uncounted: true, Offers: ", nothing", Profiles: nothing, Mounts: "by-handle"}
	cold := house.New(b, plan)
	plan.Top = "pool: {size: 2}"
	prepared := house.New(b, plan)
	for _, h := range []*house.House{cold, prepared} {
		toStarted(b, h, -1) // the first request for a set of prefixes finds none ready
	}
	var colds, warms, theirs []time.Duration
	for i := 0; b.Loop(); i++ {
		awaitReady(b, prepared)
		warms = append(warms, toStarted(b, prepared, i))
		awaitReady(b, prepared) // it fills up while nothing is timed
		colds = append(colds, toStarted(b, cold, i))
		cold.Eventually("the sandbox is removed", func() bool { return len(cold.Sandboxes()) == 0 })
		begin := time.Now()
		if out, err := exec.Command("docker", "run", "--rm", "--network", "none", image).CombinedOutput(); err != nil {
			b.Fatalf("docker run: %v\n%s", err, out)
		}
		theirs = append(theirs, time.Since(begin))
	}
	b.ReportMetric(float64(median(warms))/float64(median(theirs)), "prepared-of-docker-run")
	b.ReportMetric(float64(median(colds))/float64(median(theirs)), "cold-of-docker-run")
	b.ReportMetric(float64(median(warms).Microseconds())/1000, "ms-prepared")
	b.ReportMetric(float64(median(colds).Microseconds())/1000, "ms-cold")
	b.ReportMetric(float64(median(theirs).Microseconds())/1000, "ms-docker-run")
	slices.Sort(warms)
	b.ReportMetric(float64(warms[len(warms)*95/100].Microseconds())/1000, "ms-prepared-p95")
}

// toStarted is how long a request takes to init's started line, by the clock that both have.
func toStarted(b *testing.B, h *house.House, i int) time.Duration {
	b.Helper()
	id := fmt.Sprint("nothing", i)
	begin, _ := timed(h, house.Ask{ID: id, Task: "nothing", Profile: "nothing"})
	run, err := h.Client.Run(b.Context(), id)
	h.Must(err)
	return run.Started.Sub(begin)
}

// awaitReady waits until every sandbox is ready that is wanted.
func awaitReady(b *testing.B, h *house.House) {
	b.Helper()
	h.Eventually("the pool is full", func() bool {
		status, err := h.Client.Status(b.Context())
		if err != nil {
			return false
		}
		wanted, ready := 0, 0
		for _, pool := range status.Pools {
			for _, shelf := range pool.Shelves {
				wanted, ready = wanted+shelf.Wanted, ready+shelf.Ready
			}
		}
		return wanted > 0 && ready == wanted
	})
}
