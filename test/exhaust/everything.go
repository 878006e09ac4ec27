//go:build linux

package exhaust

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/test/attack"
	"torno/test/prober/inside"
)

// taking is something that a child takes all of.
type taking struct {
	row, what string
	most      int64 // more than there is for it; where nothing bounds it, this is what it gets
	bound     func(*Field, sandbox.Limits) int64
	plenty    int64 // more than the memory can hold, where a kernel of the sandbox's own has no other bound for it
}

var takings = []taking{
	{"X1", "processes", 300, tasks, 0},
	{"X1", "zombies", 300, tasks, 0},
	{"X1", "threads", 300, tasks, 0},
	{"X3", "open files", 3000, func(_ *Field, l sandbox.Limits) int64 { return l.OpenFiles }, 0},
	{"X6", "/tmp", 64 * mib, func(_ *Field, l sandbox.Limits) int64 { return l.Tmp }, 0},
	{"X6", "/home/agent", 64 * mib, func(_ *Field, l sandbox.Limits) int64 { return l.Home }, 0},
	{"X6", "/dev/shm", 64 * mib, func(_ *Field, l sandbox.Limits) int64 { return l.Shm }, 0},
	{"X6", "files in /tmp", 10_000, func(_ *Field, l sandbox.Limits) int64 { return l.Tmp / 4096 }, 10_000_000},
	{"X13", "timers", 3000, signals, 10_000_000},
	{"X13", "signals", 3000, signals, 0},
	{"X13", "message queues", 8, func(*Field, sandbox.Limits) int64 { return 4 }, 10_000},
	{"X2", "heap", 320 * mib, memory, 0},
	{"X2", "pipe buffers", 320 * mib, memory, 0},
	{"X2", "socket buffers", 320 * mib, memory, 0},
}

func tasks(_ *Field, l sandbox.Limits) int64  { return l.Pids + runfile.Tasks }
func signals(*Field, sandbox.Limits) int64    { return 1024 }
func memory(f *Field, l sandbox.Limits) int64 { return l.Memory + f.Reserve }

// littleMemory is what a sandbox has where its memory alone holds what is taken. More of it is filled in the same way, piece by piece, for
// minutes.
const littleMemory = 16 * mib

// isPlenty says whether more is wanted of something than any memory holds.
func isPlenty(wanted inside.Taking) bool {
	return slices.ContainsFunc(takings, func(t taking) bool {
		return t.what == wanted.What && t.plenty > 0 && wanted.Most == max(t.most, t.plenty)
	})
}

// heldByMemory says whether there is no other bound for it than that of the memory.
func (t taking) heldByMemory(f *Field) bool { return t.row == "X2" || f.OwnKernel && t.plenty > 0 }

// Everything has one sandbox take all that there is of everything, one thing after another, with another sandbox beside it.
// Where the launcher says that it does not bound memory, what only that would bound must be free: it says what is so.
func Everything(f *Field) {
	f.Helper()
	wanted := []inside.Taking{{What: "page cache", Most: 400 * mib}}
	for _, t := range takings {
		wanted = append(wanted, inside.Taking{What: t.what, Most: t.most})
	}
	strongly := slices.Clone(wanted)
	bounded := f.bounds(sandbox.MemoryLimit)
	for i, t := range takings {
		if f.OwnKernel && bounded {
			strongly[i+1].Most = max(t.most, t.plenty)
		}
	}
	limits := f.prober().Limits
	limits.Memory, limits.FileSize, limits.Pids = 160*mib, 512*mib, 48
	_, weak, _ := f.take(wanted, limits, true)
	beside := f.witness()
	cache, strong, peak := f.take(strongly, limits, false)
	score(f, limits, strong, weak, beside.says())

	if cache.Got != cache.Most || cache.Stop != "" {
		f.Errorf("a program that writes more than its memory holds got %d of %d, and %q", cache.Got, cache.Most, cache.Stop)
	}
	if !bounded {
		return
	}
	// A charge that the kernel cannot refuse goes over the limit for a moment: a thread that is being killed for memory ends its
	// call first, and takes the pages that the call wants. Each of a sandbox's threads may do so at once.
	const forced = 1 * mib
	f.Logf("at its most a sandbox had %d KiB of memory, of %d", peak>>10, memory(f, limits)>>10)
	if peak <= 0 || peak > memory(f, limits)+forced {
		f.Errorf("the sandbox had %d bytes of memory", peak)
	}
}

// take has a prober take one thing after another. Where that ends a sandbox, it is taken in one of its own.
func (f *Field) take(wanted []inside.Taking, limits sandbox.Limits, free bool) (first inside.Taking, rest []inside.Taking, peak int64) {
	f.Helper()
	if free || !f.OwnKernel {
		rest, peak = f.exhaust(wanted, limits, free)
		return rest[0], rest[1:], peak
	}
	for _, w := range wanted {
		spec := f.prober("take", w.What, fmt.Sprint(w.Most))
		spec.Limits = limits
		if isPlenty(w) {
			spec.Limits.Memory = littleMemory
		}
		text, exit := f.run(spec)
		w.Got, w.Stop = inside.Progress(text)
		if exit.Code != 0 && w.Stop == "" {
			w.Stop = fmt.Sprintf("exit %d, out of memory: %t", exit.Code, exit.OutOfMemory)
		}
		rest, peak = append(rest, w), max(peak, exit.PeakMemory)
	}
	return rest[0], rest[1:], peak
}

// exhaust is one run that takes all of it.
func (f *Field) exhaust(wanted []inside.Taking, limits sandbox.Limits, free bool) (all []inside.Taking, peak int64) {
	f.Helper()
	order, err := json.Marshal(wanted)
	f.must(err)
	spec := f.prober("exhaust", string(order))
	spec.Limits = limits
	var text string
	var code int
	if free {
		text, code = f.free(spec, 128*mib)
	} else {
		var exit sandbox.Exit
		text, exit = f.run(spec)
		code = exit.Code
	}
	for line := range strings.Lines(text) {
		var t inside.Taking
		f.must(json.Unmarshal([]byte(line), &t))
		all = append(all, t)
	}
	if code != 0 || len(all) != len(wanted)+1 {
		f.Fatalf("the prober failed with exit %d, and said %s", code, text)
	}
	return all[:len(wanted)], all[len(wanted)].Got
}

// isFree wants that a child got all that it wanted of what its launcher does not bound, or all that its files are good for.
func (f *Field) isFree(t taking, got inside.Taking) {
	f.Helper()
	f.Logf("%s: %d, without a bound, as is said", t.what, got.Got)
	if got.Got < t.most && !strings.HasPrefix(got.Stop, "EMFILE") {
		f.Errorf("%s: got %d of %d, and %q; the launcher says that memory is not bounded", t.what, got.Got, t.most, got.Stop)
	}
}

// score records, row by row, what was taken.
func score(f *Field, limits sandbox.Limits, strong, weak []inside.Taking, note string) {
	trials := map[string]*attack.Trial{}
	bounded := f.bounds(sandbox.MemoryLimit)
	for i, t := range takings {
		if t.heldByMemory(f) && !bounded {
			f.isFree(t, strong[i])
			continue
		}
		trial := trials[t.row]
		if trial == nil {
			trial = &attack.Trial{Row: t.row, Where: f.Where, Oracle: true}
			trials[t.row] = trial
		}
		got, free, bound := strong[i], weak[i], t.bound(f, limits)
		limit := fmt.Sprint(bound)
		if f.OwnKernel && t.plenty > 0 {
			bound, limit = t.plenty-1, "what the memory holds"
		}
		trial.Tried++
		trial.Note += fmt.Sprintf("%s: %d of %s; ", t.what, got.Got, limit)
		if got.Got > 0 && got.Got <= bound && got.Stop != "" {
			trial.Held++
		} else {
			f.Errorf("%s: got %d of %d, and %q", t.what, got.Got, bound, got.Stop)
		}
		if free.Got < t.most {
			f.Errorf("%s without limits: got %d of %d, and %q", t.what, free.Got, t.most, free.Stop)
			trial.Oracle = false
		}
		f.Logf("%s: %d (%s), without limits %d (%s)", t.what, got.Got, got.Stop, free.Got, free.Stop)
	}
	for _, trial := range trials {
		trial.Note += note
		attack.Record(f, *trial)
	}
}
