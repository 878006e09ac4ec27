package docker_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/attack"
	"torno/test/weak"
)

// TestForkBomb has every process of a sandbox fork as fast as it can, and ends them all.
func TestForkBomb(t *testing.T) {
	f := newProberField(t, docker.MountAuto)
	beside := f.witness()
	h := f.create(f.prober("bomb"))
	defer f.remove(h)
	a := f.start(h)
	beside.beaten(attack.Times(3, 100))
	stats, err := beside.api.ContainerStatsOneShot(f.ctx, h.ID)
	f.must(err)
	defer stats.Body.Close()
	text, err := io.ReadAll(stats.Body)
	f.must(err)
	processes := numberIn(t, string(text), `"pids_stats":{"current":`)
	begin := time.Now()
	f.must(a.Signal(f.ctx, sandbox.Kill))
	f.finish(a)
	took := time.Since(begin)
	limit := f.spec().Limits.Pids + runfile.Tasks
	trial := attack.Trial{Row: "X1", Where: "docker, a bomb", Tried: 1, Oracle: processes > 10}
	if processes <= limit && took < patience {
		trial.Held = 1
	}
	trial.Note = fmt.Sprintf("%d processes of %d, dead %s after the order; %s", processes, limit, took.Round(time.Millisecond), beside.says())
	attack.Record(t, trial)
}

// numberIn is the number behind some text.
func numberIn(t *testing.T, text, before string) int64 {
	t.Helper()
	_, rest, _ := strings.Cut(text, before)
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatalf("no number behind %q in %q", before, text)
	}
	return n
}

// TestMemoryInFiles: what lies in files that are no process's own counts all the same, and ends the sandbox.
func TestMemoryInFiles(t *testing.T) {
	f := newProberField(t, docker.MountAuto)
	w := weak.New(t, f.base)
	beside := f.witness()
	trial := attack.Trial{Row: "X2", Where: "docker, in files", Oracle: true}
	for _, what := range []string{"memfd", "/tmp", "/dev/shm"} {
		const most = 160 * mib
		spec := f.prober("take", what, strconv.Itoa(most))
		spec.Limits.Memory, spec.Limits.FileSize = 48*mib, 2*most
		spec.Limits.Tmp, spec.Limits.Shm = 2*most, 2*most
		e := f.run(spec)
		got := lastNumber(string(e.stdout))
		trial.Tried++
		if e.exit.Code == killedBySIGKILL && got > 0 && got <= spec.Limits.Memory {
			trial.Held++
		} else {
			t.Errorf("%s: exit %+v with %d bytes of %d", what, e.exit, got, spec.Limits.Memory)
		}
		trial.Note += fmt.Sprintf("%s: %d of %d; ", what, got, spec.Limits.Memory)
		free := w.Unwalled()
		free.ShmSize = 2 * most
		text, code := w.Run(free, spec.Process.Argv...)
		if code != 0 || lastNumber(text) < most {
			t.Errorf("%s without limits: exit %d with %d bytes", what, code, lastNumber(text))
			trial.Oracle = false
		}
	}
	trial.Note += beside.says()
	attack.Record(t, trial)
}

const killedBySIGKILL = 128 + 9

// lastNumber is how far a taking came.
func lastNumber(text string) (n int64) {
	for line := range strings.Lines(text) {
		if got, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			n = got
		}
	}
	return n
}

// TestFlood prints much more than the engine keeps, and has it read.
func TestFlood(t *testing.T) {
	f := newProberField(t, docker.MountAuto)
	w := weak.New(t, f.base)
	beside := f.witness()
	mebibytes := attack.Times(8, 256)
	spec := f.prober("flood", strconv.Itoa(mebibytes))
	printed := int64(mebibytes) * (mib / 21 * 21)
	h := f.create(spec)
	defer f.remove(h)
	begin := time.Now()
	a := f.start(h)
	var read int64
	for chunk := range a.Output() {
		if chunk.Stream == sandbox.Stdout {
			read += int64(len(chunk.Bytes))
		}
	}
	took, kept := time.Since(begin), w.Log(h.ID)
	trial := attack.Trial{Row: "X5", Where: "docker", Tried: 1}
	if read == printed && kept <= spec.Limits.Log {
		trial.Held = 1
	}
	unbounded, _ := w.Ended(w.Unwalled(), spec.Process.Argv...)
	free := w.Log(unbounded)
	trial.Oracle = free == printed
	trial.Note = fmt.Sprintf("%d bytes read of %d in %s; the engine kept %d of %d, without a limit %d; %s", read, printed,
		took.Round(time.Millisecond), kept, spec.Limits.Log, free, beside.says())
	attack.Record(t, trial)
}

// TestProcessorTime has a program try to get every processor for itself.
func TestProcessorTime(t *testing.T) {
	f := newProberField(t, docker.MountAuto)
	w := weak.New(t, f.base)
	spec := f.prober("burn")
	spec.Limits.CPUs = 50
	beside := f.witness()
	got := processors(t, string(f.run(spec).stdout))
	note := beside.says()
	text, _ := w.Run(w.Unwalled(), spec.Process.Argv...)
	free := processors(t, text)
	trial := attack.Trial{Row: "X10", Where: "docker", Tried: 1, Oracle: free > 0.15}
	if got > 0 && got < 0.12 {
		trial.Held = 1
	}
	trial.Note = fmt.Sprintf("%.2f processors of 0.05, without a limit %.2f; %s", got, free, note)
	attack.Record(t, trial)
}

func processors(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		t.Fatalf("the prober said %q: %v", text, err)
	}
	return n
}

// inotifyOf takes inotify instances on the host, as the workspace's owner does.
func (f *field) inotifyOf(uid uint32, most int) (got int64) {
	f.Helper()
	f.must(os.Chmod(filepath.Dir(f.base), 0o711)) // so that others come through to the program
	cmd := exec.Command(filepath.Join(f.base, "workspace", "prober"), "take", "inotify", strconv.Itoa(most))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir = "/"
	out, err := cmd.Output()
	if len(out) == 0 {
		f.Fatalf("the host's own prober says nothing: %v", err)
	}
	return lastNumber(string(out))
}
