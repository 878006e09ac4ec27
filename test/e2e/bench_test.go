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
// the ratio is not.
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
    timeout: {default: 30s, min: 1s, max: 5m}
`})
	h.Run(house.Ask{ID: "warm", Task: "nothing", Profile: "noop"})
	var ours, theirs, answer []time.Duration
	for i := 0; b.Loop(); i++ {
		begin, seen := timed(h, house.Ask{ID: fmt.Sprint("noop", i), Task: "nothing", Profile: "noop"})
		ours = append(ours, seen.Sub(begin))
		run, err := h.Client.Run(b.Context(), fmt.Sprint("noop", i))
		h.Must(err)
		answer = append(answer, seen.Sub(run.Ended))
		awaitRemoval(b)
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
}

// awaitRemoval waits until the engine has none of our containers: what is tidied up behind an answer must not slow down what is timed next.
func awaitRemoval(b *testing.B) {
	b.Helper()
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
