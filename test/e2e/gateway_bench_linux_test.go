package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// BenchmarkAModelCall asks a stand-in for a model from a sandbox, and with the same program directly on the host, in turn, each over one
// connection. The difference is everything between init's port and the upstream's socket, there and back.
func BenchmarkAModelCall(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { modelCall(b, sandbox) })
	}
}

// eachTurn is how many messages are sent before it is the other's turn.
const eachTurn = 20

func modelCall(b *testing.B, sandbox string) {
	up := &turns{Upstream: standin.New(upstreamKey), wanted: make(chan string), given: map[string]chan bool{fromHost: make(chan bool), fromSandbox: make(chan bool)}}
	h, url := houseBefore(b, up, sandbox, "budget: {}")
	caller := buildCaller(b, h)
	var alone bytes.Buffer
	beside := exec.Command(caller, url+fromHost, fmt.Sprint(eachTurn))
	beside.Env, beside.Stdout, beside.Stderr = []string{"ANTHROPIC_API_KEY=" + upstreamKey}, &alone, os.Stderr
	h.Must(beside.Start())
	child := h.Submit(house.Ask{ID: "a", Profile: "talks", Timeout: 300, Task: "./caller $ANTHROPIC_BASE_URL " + fmt.Sprint(eachTurn) + " > times"})
	for range up.given { // both wait for their turns
		<-up.wanted
	}
	for b.Loop() {
		for _, from := range []string{fromHost, fromSandbox} {
			up.given[from] <- true
			if done := <-up.wanted; done != from {
				b.Fatalf("%q came without its turn", done)
			}
		}
	}
	up.given[fromHost] <- false
	up.given[fromSandbox] <- false
	h.Must(beside.Wait())
	h.Want(h.Response(child), delegation.StatusCompleted, delegation.ReasonExited, 0)
	reportWay(b, timesOf(b, alone.String()), timesOf(b, h.Read(h.Path("workspaces/a/times"))))
}

// The two ways to the upstream. It knows a caller of the host's by the beginning of its paths.
const (
	fromHost    = "/direct"
	fromSandbox = ""
)

// turns is an upstream that lets one caller go on after the other.
type turns struct {
	*standin.Upstream
	wanted chan string          // which one wants its turn
	given  map[string]chan bool // false for its end
}

func (u *turns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := fromSandbox
	if rest, ok := strings.CutPrefix(r.URL.Path, fromHost); ok {
		from, r.URL.Path = fromHost, rest
	}
	if r.URL.Path == "/v1/models" {
		u.wanted <- from
		if !<-u.given[from] {
			w.WriteHeader(http.StatusGone)
			return
		}
	}
	u.Upstream.ServeHTTP(w, r)
}

// buildCaller has the caller in the workspace of a request "a".
func buildCaller(b *testing.B, h *house.House) string {
	b.Helper()
	caller := filepath.Join(h.Mkdir(h.Path("workspaces/a")), "caller")
	build := exec.Command("go", "build", "-trimpath", "-o", caller, "torno/test/upstream/caller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build the caller: %v\n%s", err, out)
	}
	return caller
}

// callTimes are the times to the heads of answers and to their ends.
type callTimes struct{ head, whole []time.Duration }

func timesOf(b *testing.B, printed string) (t callTimes) {
	b.Helper()
	for line := range strings.Lines(printed) {
		var head, whole int64
		if _, err := fmt.Sscan(line, &head, &whole); err != nil {
			b.Fatal(err)
		}
		t.head, t.whole = append(t.head, time.Duration(head)*time.Microsecond), append(t.whole, time.Duration(whole)*time.Microsecond)
	}
	return t
}

// reportWay says what the way adds to an answer's head, and to a whole answer of eight events.
func reportWay(b *testing.B, alone, through callTimes) {
	b.Helper()
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for _, part := range []struct {
		name           string
		alone, through []time.Duration
	}{{"head", alone.head, through.head}, {"whole", alone.whole, through.whole}} {
		b.ReportMetric(milliseconds(median(part.alone)), "ms-"+part.name+"-direct-p50")
		b.ReportMetric(milliseconds(median(part.through)-median(part.alone)), "ms-"+part.name+"-added-p50")
		b.ReportMetric(milliseconds(high(part.alone)), "ms-"+part.name+"-direct-p95")
		b.ReportMetric(milliseconds(high(part.through)), "ms-"+part.name+"-through-p95")
		b.ReportMetric(float64(median(part.through))/float64(median(part.alone)), part.name+"-ratio")
	}
}

// high is the p95.
func high(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*95/100]
}
