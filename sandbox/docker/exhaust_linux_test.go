package docker_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/attack"
	"torno/test/prober/inside"
	"torno/test/weak"
)

// mib is 1 MiB.
const mib = 1 << 20

// exhaustion is something that a child takes all of.
type exhaustion struct {
	row, what string
	most      int64 // more than there is for it; where nothing bounds it, this is what it gets
	bound     func(sandbox.Limits) int64
}

var exhaustions = []exhaustion{
	{"X1", "processes", 300, tasks},
	{"X1", "zombies", 300, tasks},
	{"X1", "threads", 300, tasks},
	{"X2", "heap", 256 * mib, memory},
	{"X2", "pipe buffers", 256 * mib, memory},
	{"X2", "socket buffers", 256 * mib, memory},
	{"X3", "open files", 3000, func(l sandbox.Limits) int64 { return l.OpenFiles }},
	{"X6", "/tmp", 64 * mib, func(l sandbox.Limits) int64 { return l.Tmp }},
	{"X6", "/home/agent", 64 * mib, func(l sandbox.Limits) int64 { return l.Home }},
	{"X6", "/dev/shm", 64 * mib, func(l sandbox.Limits) int64 { return l.Shm }},
	{"X6", "files in /tmp", 10_000, func(l sandbox.Limits) int64 { return l.Tmp / 4096 }},
	{"X13", "timers", 3000, func(sandbox.Limits) int64 { return 1024 }},
	{"X13", "signals", 3000, func(sandbox.Limits) int64 { return 1024 }},
	{"X13", "message queues", 8, func(sandbox.Limits) int64 { return 4 }},
}

func tasks(l sandbox.Limits) int64  { return l.Pids + runfile.Tasks }
func memory(l sandbox.Limits) int64 { return l.Memory }

// TestExhaustion has one sandbox take all that there is of everything, one thing after another, with another sandbox and the
// engine beside it. A container without limits gets as much as it wants.
func TestExhaustion(t *testing.T) {
	f := newProberField(t, docker.MountAuto)
	var wanted []inside.Taking
	for _, e := range exhaustions {
		wanted = append(wanted, inside.Taking{What: e.what, Most: e.most})
	}
	wanted = append(wanted, inside.Taking{What: "page cache", Most: 320 * mib})
	spec := f.prober("exhaust", encode(f, wanted))
	spec.Limits.Memory, spec.Limits.FileSize, spec.Limits.Pids = 160*mib, 512*mib, 48

	w := weak.New(t, f.base)
	unbounded := w.Unwalled()
	unbounded.ShmSize = 128 * mib
	text, code := w.Run(unbounded, spec.Process.Argv...)
	weak := exhausted(f, text, code)

	beside := f.witness()
	e := f.run(spec)
	strong, note := exhausted(f, string(e.stdout), e.exit.Code), beside.says()
	score(t, spec.Limits, strong, weak, note)

	cache, peak := strong[len(exhaustions)], strong[len(exhaustions)+1]
	if cache.Got != cache.Most || cache.Stop != "" {
		t.Errorf("a program that writes more than its memory holds got %d of %d, and %q", cache.Got, cache.Most, cache.Stop)
	}
	// A charge that the kernel cannot refuse goes over the limit for a moment, by pages.
	const forced = 64 << 10
	if peak.Got <= 0 || peak.Got > spec.Limits.Memory+forced {
		t.Errorf("the sandbox had %d bytes of memory", peak.Got)
	}
}

func encode(f *field, v any) string {
	f.Helper()
	text, err := json.Marshal(v)
	f.must(err)
	return string(text)
}

// exhausted is what was taken of each, of the page cache, and of memory at its most.
func exhausted(f *field, text string, code int) (all []inside.Taking) {
	f.Helper()
	for line := range strings.Lines(text) {
		var taking inside.Taking
		f.must(json.Unmarshal([]byte(line), &taking))
		all = append(all, taking)
	}
	if code != 0 || len(all) != len(exhaustions)+2 {
		f.Fatalf("the prober failed with exit %d, and said %s", code, text)
	}
	return all
}

// score records, row by row, what was taken.
func score(t *testing.T, limits sandbox.Limits, strong, weak []inside.Taking, note string) {
	trials := map[string]*attack.Trial{}
	for i, e := range exhaustions {
		trial := trials[e.row]
		if trial == nil {
			trial = &attack.Trial{Row: e.row, Where: "docker", Oracle: true}
			trials[e.row] = trial
		}
		got, free := strong[i], weak[i]
		trial.Tried++
		trial.Note += fmt.Sprintf("%s: %d of %d; ", e.what, got.Got, e.bound(limits))
		if got.Got > 0 && got.Got <= e.bound(limits) && got.Stop != "" {
			trial.Held++
		} else {
			t.Errorf("%s: got %d of %d, and %q", e.what, got.Got, e.bound(limits), got.Stop)
		}
		if free.Got < e.most {
			t.Errorf("%s without limits: got %d of %d, and %q", e.what, free.Got, e.most, free.Stop)
			trial.Oracle = false
		}
		t.Logf("%s: %d (%s), without limits %d (%s)", e.what, got.Got, got.Stop, free.Got, free.Stop)
	}
	for _, trial := range trials {
		trial.Note += note
		attack.Record(t, *trial)
	}
}
