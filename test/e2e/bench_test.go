package e2e

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"torno/test/house"
)

// BenchmarkColdRun times a whole no-op run, request renamed to response visible, in turn with `docker run --rm --network
// none` of the same program in the same root, and reports the ratio of the medians. Times on a shared machine are noise;
// the ratio is not. On gVisor a bare `runsc run` stands in the same turn, and what we are above it is the median of each
// turn's difference.
func BenchmarkColdRun(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { coldRun(b, sandbox) })
	}
}

func coldRun(b *testing.B, sandbox string) {
	e := house.NeedEngine(b)
	if _, err := exec.LookPath("docker"); err != nil {
		b.Skip("NOT SHOWN HERE: there is no docker command to compare with")
	}
	root := noopRoot(b)
	image := importNoop(b, e, root)
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
	var ours, theirs, alone, bounded, answer []time.Duration
	for i := 0; b.Loop(); i++ {
		begin, seen := timed(h, house.Ask{ID: fmt.Sprint("noop", i), Task: "nothing", Profile: "noop"})
		ours = append(ours, seen.Sub(begin))
		run, err := h.Client.Run(b.Context(), fmt.Sprint("noop", i))
		h.Must(err)
		answer = append(answer, seen.Sub(run.Ended))
		awaitRemoval(b, h)
		if bare != nil {
			alone, bounded = append(alone, bare.run(b)), append(bounded, bare.bounded(b))
		}
		begin = time.Now()
		if out, err := exec.Command("docker", "run", "--rm", "--network", "none", image).CombinedOutput(); err != nil {
			b.Fatalf("docker run: %v\n%s", err, out)
		}
		theirs = append(theirs, time.Since(begin))
	}
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "of-docker-run")
	b.ReportMetric(float64(median(ours).Microseconds())/1000, "ms-ours")
	b.ReportMetric(float64(median(theirs).Microseconds())/1000, "ms-docker-run")
	b.ReportMetric(float64(median(answer).Microseconds())/1000, "ms-end-to-response")
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
	b.ReportMetric(float64(median(bare).Microseconds())/1000, "ms-"+what)
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
