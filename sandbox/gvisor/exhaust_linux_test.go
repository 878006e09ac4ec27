package gvisor_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/test/attack"
	"torno/test/exhaust"
)

// owner owns the workspace where we may choose.
const owner = 1002 // not the owner in package docker, which may be tested beside this one: a child there uses up its owner's inotify instances

// What the launcher says that it gives gVisor for itself (package groups).
const (
	memoryReserve = 64 << 20
	pidsReserve   = 512
	pidsEach      = 4
)

// newExhaust is a field for a child that takes all that there is. Beside it the host starts programs.
func newExhaust(t *testing.T) *exhaust.Field {
	t.Helper()
	base := t.TempDir()
	workspace := filepath.Join(base, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(workspace, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	return exhaust.New(t, exhaust.Launcher{
		Launcher: newHouse(t).launch(base, "ours"), Where: where(), Base: base, Owner: owner,
		Asked:     "the host",
		Ask:       func(ctx context.Context, _ sandbox.Handle) error { return exec.CommandContext(ctx, "/bin/true").Run() },
		Tasks:     tasksOnHost,
		MostTasks: func(l sandbox.Limits) int64 { return (l.Pids+runfile.Tasks)*pidsEach + pidsReserve },
		Reserve:   memoryReserve,
		OwnKernel: true,
	})
}

// where is on whose machine it is tried.
func where() string {
	if os.Geteuid() == 0 {
		return "gvisor"
	}
	return "gvisor not root"
}

// tasksOnHost counts the threads of the processes in a sandbox's control group, or where there is none those that its
// keeper is the parent of.
func tasksOnHost(h sandbox.Handle) (count int64) {
	if os.Geteuid() != 0 {
		return tasksBelow(keeperOf(h))
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		groups, err := os.ReadFile(filepath.Join(process, "cgroup"))
		if err != nil || !bytes.Contains(groups, []byte(h.ID)) {
			continue
		}
		threads, _ := os.ReadDir(filepath.Join(process, "task")) // one that is gone has none
		count += int64(len(threads))
	}
	return count
}

// keeperOf is the process beside a sandbox.
func keeperOf(h sandbox.Handle) string {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		if program, args, _ := bytes.Cut(line, []byte{0}); filepath.Base(string(program)) == "sandbox-keeper" && bytes.Contains(args, []byte(h.ID)) {
			return process
		}
	}
	return ""
}

// tasksBelow counts a process's threads and those of all that it started.
func tasksBelow(process string) (count int64) {
	threads, _ := filepath.Glob(filepath.Join(process, "task", "[0-9]*"))
	for _, thread := range threads {
		children, _ := os.ReadFile(filepath.Join(thread, "children"))
		for child := range strings.FieldsSeq(string(children)) {
			count += tasksBelow(filepath.Join("/proc", child))
		}
	}
	return count + int64(len(threads))
}

func TestExhaustion(t *testing.T) { exhaust.Everything(newExhaust(t)) }

func TestForkBomb(t *testing.T) {
	exhaust.Bomb(newExhaust(t), attack.Trial{Row: "X1", Where: where() + ", a bomb"})
}

// TestThreads: init takes no thread that it had not got before the agent.
func TestThreads(t *testing.T) { exhaust.Threads(newExhaust(t)) }

func TestMemoryInFiles(t *testing.T) {
	exhaust.MemoryInFiles(newExhaust(t), attack.Trial{Row: "X2", Where: "gvisor, in files"})
}

// TestFlood: what the keeper has kept is what a watcher that comes back reads again.
func TestFlood(t *testing.T) {
	f := newExhaust(t)
	exhaust.Flood(f, attack.Trial{Row: "X5", Where: where()}, func(h sandbox.Handle) (kept int64) {
		a, err := f.Open(t.Context(), h, "")
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for chunk := range a.Output() {
			kept += int64(len(chunk.Bytes))
		}
		return kept
	})
}

func TestProcessorTime(t *testing.T) {
	exhaust.ProcessorTime(newExhaust(t), attack.Trial{Row: "X10", Where: "gvisor"})
}

// TestInotify: a kernel of its own counts by itself, so a child takes nothing there from others.
func TestInotify(t *testing.T) {
	taken := exhaust.Inotify(newExhaust(t))
	trial := attack.Trial{Row: "X4", Where: "gvisor", Tried: 2, Oracle: taken.Child > taken.Quota, Note: taken.String()}
	if taken.Neighbour > 0 {
		trial.Held++
	}
	if taken.Owner > 0 {
		trial.Held++
	}
	attack.Record(t, trial)
}
