package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// BenchmarkFiftyAtOnce fills a pool with fifty sandboxes, asks for fifty runs at once, and says how long it was from the first rename until the
// last of them had begun, and how much of the machine's memory a sandbox takes while it holds and while its agent sleeps.
func BenchmarkFiftyAtOnce(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { fiftyAtOnce(b, sandbox) })
	}
}

func fiftyAtOnce(b *testing.B, sandbox string) {
	h := fiftyHouse(b, sandbox)
	var halves, until []time.Duration
	var held, running float64
	before := missed(b, h)
	for round := 0; b.Loop(); round++ {
		awaitReady(b, h)
		held += memoryOfEach(h)
		asks := fiftyAsks(h, round)
		took := begunAfter(b, h, asks)
		halves, until = append(halves, median(took)), append(until, slices.Max(took))
		running += memoryOfEach(h)
		for _, a := range asks {
			h.Touch("cancel_" + a.ID)
		}
		for _, a := range asks {
			h.Want(h.Response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
		}
	}
	b.ReportMetric(median(halves).Seconds(), "s-until-half-run")
	b.ReportMetric(median(until).Seconds(), "s-until-all-run")
	b.ReportMetric(held/float64(b.N), "MB-prepared")
	b.ReportMetric(running/float64(b.N), "MB-running")
	b.ReportMetric(float64(missed(b, h)-before), "missed")
}

// fiftyHouse has room for fifty runs and a pool of as many, for requests that name their workspace as the client does: these are expected.
func fiftyHouse(t testing.TB, sandbox string) *house.House {
	t.Helper()
	house.Need(t, sandbox)
	return house.New(t, house.Plan{
		Sandbox: sandbox, Uncounted: true, Mounts: "by-handle", MaxRunning: crowd,
		Top: fmt.Sprintf("pool: {size: %d, most: %d}", crowd, crowd),
	})
}

// fiftyAsks writes the requests aside and renames them all at once, as far as one program can.
func fiftyAsks(h *house.House, round int) []house.Ask {
	h.Helper()
	aside := h.Beside(h.Mkdir(filepath.Join(h.Dir, fmt.Sprint("aside", round))))
	asks := make([]house.Ask, crowd)
	for i := range asks {
		a := house.Ask{ID: fmt.Sprintf("c%d-%d", round, i), Task: "exec sleep 1000", Timeout: 600}
		a.Workspace = "workspaces/" + a.ID
		h.Mkdir(h.Path(a.Workspace))
		asks[i] = aside.Submit(a)
	}
	for i, a := range asks {
		name := "request_" + a.ID + ".json"
		asks[i].Renamed = time.Now()
		h.Must(os.Rename(aside.Path(name), h.Path(name)))
	}
	return asks
}

// begunAfter waits until all have begun, and returns how long after the first rename each did.
func begunAfter(t testing.TB, h *house.House, asks []house.Ask) (took []time.Duration) {
	t.Helper()
	for _, a := range asks {
		h.Eventually(a.ID+" has begun", func() bool {
			run, err := h.Client.Run(t.Context(), a.ID)
			if err != nil || run.Started.IsZero() {
				return false
			}
			took = append(took, run.Started.Sub(asks[0].Renamed))
			return true
		})
	}
	return took
}

// memoryOfEach is what a sandbox takes of the machine's memory in MB, in the mean: its processes and those that stand beside it. Of what several
// processes share, each has its part.
func memoryOfEach(h *house.House) float64 {
	h.Helper()
	sandboxes := h.Sandboxes()
	var all int64
	for pid := range processesOf(h, sandboxes) {
		rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // a process that has ended since has none
		for line := range strings.Lines(string(rollup)) {
			if fields := strings.Fields(line); fields[0] == "Pss:" {
				all += number(h, fields[1]) << 10
			}
		}
	}
	return float64(all) / (1 << 20) / float64(max(len(sandboxes), 1))
}

// processesOf are the processes whose command line names a sandbox, the engine's and ours, and all that come from them.
func processesOf(h *house.House, sandboxes []house.Sandbox) map[int64]bool {
	h.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	h.Must(err)
	var named []int64
	children := map[int64][]int64{}
	for _, dir := range dirs {
		pid := number(h, filepath.Base(dir))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		parent := number(h, strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
		children[parent] = append(children[parent], pid)
		if slices.ContainsFunc(sandboxes, func(s house.Sandbox) bool { return bytes.Contains(line, []byte(s.ID)) }) {
			named = append(named, pid)
		}
	}
	var all func(pid int64)
	of := map[int64]bool{}
	all = func(pid int64) {
		of[pid] = true
		for _, child := range children[pid] {
			all(child)
		}
	}
	for _, pid := range named {
		all(pid)
	}
	return of
}
