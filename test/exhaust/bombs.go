//go:build linux

package exhaust

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"torno/sandbox"
	"torno/test/attack"
)

// Bomb has every process of a sandbox fork as fast as it can, and ends them all.
func Bomb(f *Field, trial attack.Trial) {
	f.Helper()
	beside := f.witness()
	spec := f.prober("bomb")
	h := f.create(spec)
	defer f.remove(h)
	a := f.start(h)
	tasks, most := f.explodes(h), f.MostTasks(spec.Limits)
	beside.beaten(attack.Times(3, 100))
	tasks = max(tasks, f.Tasks(h)) // none, where it has burst its own sandbox's memory meanwhile
	begin := time.Now()
	f.must(a.Signal(f.Context(), sandbox.Kill))
	_, exit := f.finish(a)
	took := time.Since(begin)
	trial.Tried, trial.Oracle = 1, tasks > fewTasks
	if tasks <= most && took < patience && exit.Code == killed {
		trial.Held = 1
	}
	trial.Note = fmt.Sprintf("%d tasks of %d, dead %s after the order, out of memory: %v; %s", tasks, most, took.Round(time.Millisecond), exit.OutOfMemory, beside.says())
	attack.Record(f, trial)
}

// explodes waits until a bomb has begun, and says how many tasks it had then: on a busy machine a sandbox's own kernel takes its time.
func (f *Field) explodes(h sandbox.Handle) (tasks int64) {
	f.Helper()
	for deadline := time.Now().Add(patience); tasks <= fewTasks && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		tasks = f.Tasks(h)
	}
	return tasks
}

// fewTasks are no bomb.
const fewTasks = 10

// killed is the exit code of an agent that a KILL ended, from any sender.
const killed = 128 + 9

// MemoryInFiles takes memory in files that are no process's own. They count all the same, and end the sandbox.
func MemoryInFiles(f *Field, trial attack.Trial) {
	f.Helper()
	beside := f.witness()
	trial.Oracle = true
	for _, what := range []string{"memfd", "/tmp", "/dev/shm"} {
		const memory, most = 48 * mib, 240 * mib
		spec := f.prober("take", what, strconv.Itoa(most))
		spec.Limits.Memory, spec.Limits.FileSize, spec.Limits.Tmp, spec.Limits.Shm = memory, 2*most, 2*most, 2*most
		text, exit := f.run(spec)
		got := lastNumber(text)
		trial.Tried++
		if exit.Code == killed && got > 0 && got <= memory+f.Reserve {
			trial.Held++
		} else {
			f.Errorf("%s: exit %+v with %d bytes of %d", what, exit, got, memory)
		}
		trial.Note += fmt.Sprintf("%s: %d MiB of %d; ", what, got/mib, memory/mib)
		text, code := f.free(spec, 2*most)
		if code != 0 || lastNumber(text) < most {
			f.Errorf("%s without limits: exit %d with %d bytes", what, code, lastNumber(text))
			trial.Oracle = false
		}
	}
	trial.Note += beside.says()
	attack.Record(f, trial)
}

// lastNumber is how far a taking came.
func lastNumber(text string) (n int64) {
	for line := range strings.Lines(text) {
		if got, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			n = got
		}
	}
	return n
}

// Flood prints much more than is kept of it, and has it read. kept is how much of a sandbox's standard output is there
// afterwards.
func Flood(f *Field, trial attack.Trial, kept func(sandbox.Handle) int64) {
	f.Helper()
	beside := f.witness()
	mebibytes := attack.Times(8, 256)
	spec := f.prober("flood", strconv.Itoa(mebibytes))
	printed := int64(mebibytes) * (mib / 21 * 21)
	h := f.create(spec)
	defer f.remove(h)
	begin := time.Now()
	var read int64
	for chunk := range f.start(h).Output() {
		if chunk.Stream == sandbox.Stdout {
			read += int64(len(chunk.Bytes))
		}
	}
	took, there := time.Since(begin), kept(h)
	trial.Tried = 1
	if read == printed && there <= spec.Limits.Log {
		trial.Held = 1
	}
	unbounded, _ := f.weak.Ended(f.weak.Unwalled(), spec.Process.Argv...)
	free := f.weak.Log(unbounded)
	trial.Oracle = free == printed
	trial.Note = fmt.Sprintf("%d bytes read of %d in %s; %d were kept of %d, without a limit %d; %s", read, printed,
		took.Round(time.Millisecond), there, spec.Limits.Log, free, beside.says())
	attack.Record(f, trial)
}

// ProcessorTime has a program try to get every processor for itself.
func ProcessorTime(f *Field, trial attack.Trial) {
	f.Helper()
	spec := f.prober("burn")
	spec.Limits.CPUs = 50
	beside := f.witness()
	began := time.Now()
	text, exit := f.run(spec)
	got, note := f.processors(text), beside.says()
	if exit.CPUTime > 0 { // the host's count, from the sandbox's first process on, and not that of a kernel of the sandbox's own
		got = exit.CPUTime.Seconds() / exit.FinishedAt.Sub(began).Seconds()
	}
	free := 0.0
	for tries := 0; !trial.Oracle && tries < 10; tries++ { // on a loaded machine there may be no more at one time or another
		text, _ = f.free(spec, 0)
		free = max(free, f.processors(text))
		trial.Oracle = free > 0.1 && free > 1.5*got
	}
	trial.Tried = 1
	if got > 0 && got < 0.12 {
		trial.Held = 1
	}
	trial.Note = fmt.Sprintf("%.2f processors of 0.05, without a limit %.2f; %s", got, free, note)
	attack.Record(f, trial)
}

func (f *Field) processors(text string) float64 {
	f.Helper()
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		f.Fatalf("the prober said %q: %v", text, err)
	}
	return n
}
