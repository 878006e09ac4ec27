package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// BenchmarkColdRun times a whole no-op run, request renamed to response visible, in turn with `docker run --rm --network
// none` of the same program in the same root, and reports the ratio of the medians. Times on a shared machine are noise;
// the ratio is not. With Docker a bare loop over the engine's API, `bwrap`, and a poller without a sandbox stand in the same turn; on
// gVisor a bare `runsc run`, and what we are above it is the median of each turn's difference.
func BenchmarkColdRun(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { coldRun(b, sandbox) })
	}
}

func coldRun(b *testing.B, sandbox string) {
	root := noopRoot(b)
	e, image := besideDockerRun(b, sandbox, root)
	noop := map[string]string{house.Docker: "image: " + image, house.GVisor: "rootfs: dir:" + root}[sandbox]
	h := house.New(b, house.Plan{Sandbox: sandbox, Uncounted: true, Offers: ", noop", Profiles: `  noop:
    ` + noop + `
    command: [/noop]
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
    timeout: {default: 2m, min: 1s, max: 5m}
`})
	h.Run(house.Ask{ID: "warm", Task: "nothing", Profile: "noop"})
	var bare *bareRunsc
	if sandbox == house.GVisor {
		bare = newBareRunsc(b, root)
		bare.run(b)
	}
	var phases []delegation.Timings
	var ours, theirs, alone, bounded, answer, loop, wrapped, polled []time.Duration
	for i := 0; b.Loop(); i++ {
		a := house.Ask{ID: fmt.Sprint("noop", i), Request: fmt.Sprint("req noop", i), Task: "nothing", Profile: "noop"}
		begin, seen := timed(h, a)
		ours, phases = append(ours, seen.Sub(begin)), append(phases, *h.Response(a).Timings)
		run, err := h.Client.Run(b.Context(), fmt.Sprint("noop", i))
		h.Must(err)
		answer = append(answer, seen.Sub(run.Ended))
		awaitRemoval(b, h)
		if bare != nil {
			alone, bounded = append(alone, bare.run(b)), append(bounded, bare.bounded(b))
		} else {
			loop = append(loop, throughTheAPI(b, e, image, i))
			polled = append(polled, throughPolls(b, filepath.Join(root, "noop")))
			if took, there := throughBwrap(b, root); there {
				wrapped = append(wrapped, took)
			}
		}
		theirs = append(theirs, dockerRun(b, image))
	}
	ratio(b, "of-docker-run", ours, theirs)
	spread(b, "ours", ours)
	spread(b, "docker-run", theirs)
	spread(b, "end-to-response", answer)
	reportPhases(b, phases)
	spread(b, "api-loop", loop)
	spread(b, "bwrap", wrapped)
	spread(b, "half-second-polls", polled)
	if bare != nil {
		reportBare(b, "bare-runsc", ours, alone, theirs)
		reportBare(b, "bounded-runsc", ours, bounded, theirs)
	}
}

// reportBare says what a bare `runsc run` costs, and how much more ours is, both as parts of a `docker run`.
func reportBare(b *testing.B, what string, ours, bare, theirs []time.Duration) {
	b.Helper()
	var above []time.Duration
	for i := range ours {
		above = append(above, ours[i]-bare[i])
	}
	b.ReportMetric(float64(median(bare))/float64(median(theirs)), what+"-of-docker-run")
	b.ReportMetric(float64(median(above))/float64(median(theirs)), "above-"+what)
	spread(b, what, bare)
}

// percentiles are those of every spread, by what they are called behind a figure's name.
var percentiles = []struct {
	name    string
	percent int
}{{"", 50}, {"-p95", 95}, {"-p99", 99}}

// percentile is what so many of a hundred are not above.
func percentile(all []time.Duration, percent int) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)*percent/100, len(all)-1)]
}

// spread reports a median in milliseconds, and what 95 and 99 of a hundred were not above. Of nothing it reports nothing.
func spread(b *testing.B, what string, all []time.Duration) {
	b.Helper()
	if len(all) == 0 {
		return
	}
	for _, p := range percentiles {
		b.ReportMetric(float64(percentile(all, p.percent).Microseconds())/1000, "ms-"+what+p.name)
	}
}

// ratio reports a median as a part of the median of what stood beside it, and the same of what 95 and 99 of a hundred were not above.
func ratio(b *testing.B, what string, ours, theirs []time.Duration) {
	b.Helper()
	for _, p := range percentiles {
		b.ReportMetric(float64(percentile(ours, p.percent))/float64(percentile(theirs, p.percent)), what+p.name)
	}
}

// reportPhases says where the time of a run goes, as its response tells it: the median of each part.
func reportPhases(b *testing.B, all []delegation.Timings) {
	b.Helper()
	for _, phase := range []struct {
		name string
		of   func(delegation.Timings) float64
	}{
		{"admit", func(t delegation.Timings) float64 { return t.Admit }},
		{"queue", func(t delegation.Timings) float64 { return t.Queue }},
		{"create", func(t delegation.Timings) float64 { return t.Create }},
		{"start", func(t delegation.Timings) float64 { return t.Start }},
		{"run", func(t delegation.Timings) float64 { return t.Run }},
	} {
		var times []float64
		for _, t := range all {
			times = append(times, phase.of(t))
		}
		slices.Sort(times)
		b.ReportMetric(times[len(times)/2], "ms-phase-"+phase.name)
	}
}

// awaitRemoval waits until nothing of ours is left: what is tidied up after an answer must not slow down what is timed next.
func awaitRemoval(b *testing.B, h *house.House) {
	b.Helper()
	h.Eventually("the sandbox is removed", func() bool { return len(h.Sandboxes()) == 0 })
	for {
		left, err := exec.Command("docker", "ps", "--all", "--quiet", "--filter", "label=torno.installation").Output()
		if err != nil {
			b.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
	}
}
