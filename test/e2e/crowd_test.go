package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// crowd is how many children are there at once in BenchmarkCrowd.
const crowd = 50

// BenchmarkCrowd asks for many children of gVisor at once, which then do nothing. It says how long they took to start, and
// what each of them takes of the machine's memory: of what several processes share, each has its part.
func BenchmarkCrowd(b *testing.B) {
	h := house.New(b, house.Plan{Sandbox: house.GVisor, MaxRunning: crowd, Uncounted: true})
	h.Run(house.Ask{ID: "warm", Task: "true"})
	var starts []time.Duration
	var all time.Duration
	shares, peaks := map[string]int64{}, int64(0)
	for round := 0; b.Loop(); round++ {
		begin := time.Now()
		asks := make([]house.Ask, crowd)
		for i := range asks {
			asks[i] = h.Submit(house.Ask{ID: fmt.Sprintf("c%d-%d", round, i), Task: "echo ready; exec sleep 1000", Timeout: 200})
		}
		for _, a := range asks {
			h.Says(a, "ready")
		}
		all += time.Since(begin)
		for _, s := range h.Sandboxes() {
			peaks += weigh(h, s, shares)
		}
		starts = append(starts, dismiss(h, asks)...)
	}
	slices.Sort(starts)
	total := int64(0)
	for name, bytes := range shares {
		total += bytes
		b.ReportMetric(perChild(b, bytes), "MB-"+name)
	}
	b.ReportMetric(perChild(b, total), "MB-child")
	b.ReportMetric(perChild(b, peaks), "MB-peak-of-group")
	b.ReportMetric(float64(median(starts).Milliseconds()), "ms-start-p50")
	b.ReportMetric(float64(starts[len(starts)*99/100].Milliseconds()), "ms-start-p99")
	b.ReportMetric(all.Seconds()/float64(b.N), "s-until-all-run")
}

func perChild(b *testing.B, bytes int64) float64 {
	return float64(bytes) / (1 << 20) / float64(b.N*crowd)
}

// weigh adds the memory of a sandbox's processes to the shares of their kinds, and returns the most that its control group
// has had.
func weigh(h *house.House, s house.Sandbox, shares map[string]int64) (peak int64) {
	h.Helper()
	members := h.Processes(s.ID, house.Keeper)
	for _, group := range h.Groups(s.ID) {
		for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
			if text, err := os.ReadFile(filepath.Join(group, file)); err == nil {
				peak = number(h, string(text))
				for pid := range strings.FieldsSeq(h.Read(filepath.Join(group, "cgroup.procs"))) {
					members = append(members, int(number(h, pid)))
				}
			}
		}
	}
	for _, pid := range members {
		proc := fmt.Sprintf("/proc/%d/", pid)
		for line := range strings.Lines(h.Read(proc + "smaps_rollup")) {
			if fields := strings.Fields(line); fields[0] == "Pss:" {
				program, _, _ := strings.Cut(h.Read(proc+"cmdline"), "\x00")
				shares[cmp.Or(program[strings.LastIndexByte(program, '/')+1:], "stubs")] += number(h, fields[1]) << 10
			}
		}
	}
	return peak
}

func number(h *house.House, text string) int64 {
	h.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	h.Must(err)
	return n
}

// dismiss cancels all, and returns how long each took from its place to its agent.
func dismiss(h *house.House, asks []house.Ask) (starts []time.Duration) {
	h.Helper()
	for _, a := range asks {
		h.Touch("cancel_" + a.ID)
	}
	for _, a := range asks {
		resp := h.Response(a)
		h.Want(resp, delegation.StatusCancelled, delegation.ReasonCancelled, -1)
		starts = append(starts, time.Duration((resp.Timings.Create+resp.Timings.Start)*float64(time.Millisecond)))
	}
	h.Eventually("no sandbox is left", func() bool { return len(h.Sandboxes()) == 0 })
	return starts
}
