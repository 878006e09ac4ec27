package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"torno/internal/gateway/budget"
)

// mostMemory is what a gateway may have resident with 500 answers under way.
const mostMemory = 64 << 10 // KiB

// TestFiveHundredStreams: so many answers at once, each with its first event delivered, and the memory of the gateway's process.
func TestFiveHundredStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what opens two thousand descriptors")
	}
	p := newPlace(t)
	p.build() // the race detector would need four times as much
	p.up.Step = make(chan struct{})
	g := p.serve()
	const doors, each = 5, 100
	answers := make(chan *http.Response)
	for i := range doors {
		c := g.open(fmt.Sprintf("run%d", i), budget.Limits{})
		for range each {
			go func() {
				r, err := say(c, "hello", true) //nolint:bodyclose // it is read and closed when all are there
				if err != nil {
					t.Error(err)
				}
				answers <- r
			}()
		}
	}
	var all []*http.Response
	for range doors * each {
		if r := <-answers; r != nil {
			all = append(all, r) //nolint:bodyclose // below
			if _, err := io.ReadFull(r.Body, make([]byte, 20)); err != nil {
				t.Error(err)
			}
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		t.Skip("NOT SHOWN HERE: there is no /proc")
	}
	var peak int
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "VmHWM: %d kB", &peak)
	}
	t.Logf("%d streams: at most %d MiB were resident", len(all), peak>>10)
	if peak == 0 || peak > mostMemory {
		t.Errorf("at most %d KiB were resident, allowed are %d", peak, mostMemory)
	}
	close(p.up.Step)
	for _, r := range all {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), "message_stop") {
			t.Fatalf("%v: %s", err, body)
		}
		r.Body.Close()
	}
}
