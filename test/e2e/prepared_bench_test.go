package e2e

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// nothing is a profile whose agent does nothing.
const nothing = `  nothing:
    command: [/bin/true]
    answer: none
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
`

// BenchmarkPreparedRun times from the rename of a request to init's started line, by a client: of a run that finds a sandbox ready,
// of one that makes its own, and a whole `docker run --rm --network none` of a program that does nothing, in turn. The ratios
// count.
func BenchmarkPreparedRun(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { preparedRun(b, sandbox) })
	}
}

func preparedRun(b *testing.B, sandbox string) {
	_, image := besideDockerRun(b, sandbox, noopRoot(b))
	cold, prepared := nothingHouse(b, sandbox, ""), nothingHouse(b, sandbox, "pool: {size: 2}")
	var phases []delegation.Timings
	var colds, warms, theirs, answer []time.Duration
	for i := 0; b.Loop(); i++ {
		awaitReady(b, prepared)
		warm := toStarted(b, prepared, i)
		warms, phases, answer = append(warms, warm.took), append(phases, warm.timings), append(answer, warm.answer)
		awaitReady(b, prepared) // it fills up while nothing is timed
		colds = append(colds, toStarted(b, cold, i).took)
		cold.Eventually("the sandbox is removed", func() bool { return len(cold.Sandboxes()) == 0 })
		theirs = append(theirs, dockerRun(b, image))
	}
	ratio(b, "of-docker-run", warms, theirs)
	ratio(b, "cold-of-docker-run", colds, theirs)
	spread(b, "prepared", warms)
	spread(b, "cold", colds)
	spread(b, "docker-run", theirs)
	spread(b, "end-to-response", answer)
	reportPhases(b, phases)
}

// BenchmarkSustained asks for a run as soon as a sandbox was made in place of the last, and so on without a rest. The run before may still
// be ending, and its sandbox being removed. Between blocks of such runs stand some of `docker run`.
func BenchmarkSustained(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { sustained(b, sandbox) })
	}
}

func sustained(b *testing.B, sandbox string) {
	const block, between = 10, 3
	_, image := besideDockerRun(b, sandbox, noopRoot(b))
	h := nothingHouse(b, sandbox, "pool: {size: 2}")
	awaitReady(b, h)
	before := missed(b, h)
	var warms, theirs []time.Duration
	var busy time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		awaitReady(b, h)
		warms = append(warms, toStarted(b, h, i).took)
		busy += time.Since(begin)
		if i%block == block-1 {
			for range between {
				theirs = append(theirs, dockerRun(b, image))
			}
		}
	}
	if len(theirs) == 0 {
		theirs = append(theirs, dockerRun(b, image))
	}
	ratio(b, "of-docker-run", warms, theirs)
	spread(b, "prepared", warms)
	spread(b, "docker-run", theirs)
	b.ReportMetric(float64(b.N)/busy.Seconds(), "runs/s")
	b.ReportMetric(float64(missed(b, h)-before), "missed")
}

// besideDockerRun has an image of a root for `docker run`, or skips.
func besideDockerRun(b *testing.B, sandbox, root string) (e house.Engine, image string) {
	b.Helper()
	house.Need(b, sandbox)
	e = house.NeedEngine(b)
	if _, err := exec.LookPath("docker"); err != nil {
		b.Skip("NOT SHOWN HERE: there is no docker command to compare with")
	}
	return e, importNoop(b, e, root)
}

// dockerRun is how long a whole `docker run` of nothing takes.
func dockerRun(b *testing.B, image string) time.Duration {
	b.Helper()
	begin := time.Now()
	if out, err := exec.Command("docker", "run", "--rm", "--network", "none", image).CombinedOutput(); err != nil {
		b.Fatalf("docker run: %v\n%s", err, out)
	}
	return time.Since(begin)
}

// nothingHouse has the profile nothing, and has run it once: the first request for a set of prefixes finds no sandbox ready.
func nothingHouse(b *testing.B, sandbox, pool string) *house.House {
	b.Helper()
	h := house.New(b, house.Plan{Sandbox: sandbox, Uncounted: true, Offers: ", nothing", Profiles: nothing, Mounts: "by-handle", Top: pool})
	toStarted(b, h, -1)
	return h
}

// begun is what a client saw of a run.
type begun struct {
	took    time.Duration // from the rename to init's started line
	answer  time.Duration // from the child's end to the response
	timings delegation.Timings
}

// toStarted times a run, by the clock that client, watcher and init share.
func toStarted(b *testing.B, h *house.House, i int) begun {
	b.Helper()
	a := house.Ask{ID: fmt.Sprint("nothing", i), Request: fmt.Sprint("nothing", i), Task: "nothing", Profile: "nothing"}
	begin, seen := timed(h, a)
	run, err := h.Client.Run(b.Context(), a.ID)
	h.Must(err)
	return begun{took: run.Started.Sub(begin), answer: seen.Sub(run.Ended), timings: *h.Response(a).Timings}
}

// awaitReady waits until every sandbox is ready that is wanted. A machine that has much else to do takes its time for each of them.
func awaitReady(b testing.TB, h *house.House) {
	b.Helper()
	for most, wanted := 0, 1; most < wanted; {
		h.Eventually("another sandbox is ready", func() bool {
			status, err := h.Client.Status(b.Context())
			h.Must(err)
			var ready int
			wanted, ready = shelvesOf(status)
			if ready <= most && (wanted == 0 || ready < wanted) {
				return false
			}
			most = ready
			return true
		})
	}
}

// shelvesOf is how many sandboxes the pools want, and how many are ready.
func shelvesOf(status control.Status) (wanted, ready int) {
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			wanted, ready = wanted+shelf.Wanted, ready+shelf.Ready
		}
	}
	return wanted, ready
}

// missed is how many runs have found no sandbox ready.
func missed(b testing.TB, h *house.House) (n int) {
	b.Helper()
	status, err := h.Client.Status(b.Context())
	h.Must(err)
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			n += shelf.Missed
		}
	}
	return n
}
