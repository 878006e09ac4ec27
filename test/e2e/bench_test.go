package e2e

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"torno/test/house"
)

// BenchmarkColdRun times a whole no-op run, request renamed to response visible, in turn with `docker run --rm --network
// none` of a no-op, and reports the ratio of the medians. Times on a shared machine are noise; the ratio is not.
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
	h := house.New(b, house.Plan{Sandbox: sandbox, Uncounted: true})
	image := importNoop(b, e)
	h.Run(house.Ask{ID: "warm", Task: "true"})
	var ours, theirs, answer []time.Duration
	for i := 0; b.Loop(); i++ {
		begin, seen := timed(h, house.Ask{ID: fmt.Sprint("noop", i), Task: "true"})
		ours = append(ours, seen.Sub(begin))
		run, err := h.Client.Run(b.Context(), fmt.Sprint("noop", i))
		h.Must(err)
		answer = append(answer, seen.Sub(run.Ended))
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

// importNoop makes an image that holds one static program, which does nothing and says so.
func importNoop(b *testing.B, e house.Engine) string {
	b.Helper()
	program, err := os.ReadFile(house.Program("sandbox-init"))
	if err != nil {
		b.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "noop", Mode: 0o755, Size: int64(len(program))}); err != nil {
		b.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	const name = "torno-bench-noop:latest"
	query := url.Values{"fromSrc": {"-"}, "repo": {"torno-bench-noop"}, "tag": {"latest"}, "changes": {`CMD ["/noop","version"]`}}
	response, err := e.HTTP.Post("http://engine/v1.41/images/create?"+query.Encode(), "application/x-tar", &archive)
	if err != nil {
		b.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		b.Fatal("import the no-op image:", response.Status)
	}
	b.Cleanup(func() {
		request, err := http.NewRequest(http.MethodDelete, "http://engine/v1.41/images/"+name+"?force=1", nil)
		if err != nil {
			b.Error(err)
			return
		}
		if response, err := e.HTTP.Do(request); err == nil {
			response.Body.Close()
		}
	})
	return name
}
