package cgroups

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fake is a machine as files: what /proc says, and a tree.
type fake struct{ proc, top string }

func newFake(t *testing.T, mountinfo, own string) fake {
	t.Helper()
	f := fake{proc: t.TempDir(), top: filepath.Join(t.TempDir(), "cgroup fs")}
	f.put(t, filepath.Join(f.proc, "mountinfo"), strings.ReplaceAll(mountinfo, "TOP", strings.ReplaceAll(f.top, " ", `\040`)))
	f.put(t, filepath.Join(f.proc, "cgroup"), own)
	return f
}

func (f fake) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// group makes a group that offers controllers.
func (f fake) group(t *testing.T, name, controllers string) {
	t.Helper()
	for file, text := range map[string]string{"cgroup.controllers": controllers, "cgroup.subtree_control": "", procs: ""} {
		f.put(t, filepath.Join(f.top, name, file), text)
	}
}

const mounted2 = "30 1 0:26 / TOP rw - cgroup2 cgroup2 rw\n31 1 0:26 / /elsewhere rw - cgroup2 cgroup2 rw\n"

// TestVersion2: groups are made beneath the group that was delegated, also when this process has moved down in it before.
func TestVersion2(t *testing.T) {
	for _, own := range []string{"/user.slice/ours.service", "/user.slice/ours.service/" + watchersGroup} {
		f := newFake(t, mounted2, "0::"+own+"\n")
		f.group(t, "user.slice/ours.service", "cpu memory pids io\n")
		f.group(t, "user.slice/ours.service/"+watchersGroup, "")
		f.put(t, filepath.Join(f.top, "user.slice/ours.service", swapMax), "max\n")
		tree, err := find(f.proc, false)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(f.top, "user.slice/ours.service")
		if tree.Version() != 2 || !tree.Swap() || tree.dirs[unified] != dir {
			t.Errorf("from %s: %+v", own, tree)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); err != nil || string(text) != "+memory +pids +cpu" {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// TestSwapThatIsNotCounted is not said to be bounded, and nothing of the look is left.
func TestSwapThatIsNotCounted(t *testing.T) {
	f := newFake(t, mounted2, "0::/ours.service\n")
	f.group(t, "ours.service", "cpu memory pids\n")
	before, err := os.ReadDir(filepath.Join(f.top, "ours.service"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := find(f.proc, false)
	if err != nil || tree.Swap() {
		t.Errorf("swap is bounded: %t, %v", tree.Swap(), err)
	}
	if after, err := os.ReadDir(filepath.Join(f.top, "ours.service")); err != nil || len(after) != len(before) {
		t.Errorf("left are %v, %v", after, err)
	}
}

// TestBoundsOfSwap: in version 2 it is bounded by itself, and by a kernel that does not count it not at all.
func TestBoundsOfSwap(t *testing.T) {
	for text, want := range map[string]Bounds{
		"0\n": {Swap: 0, Counted: true}, "4096\n": {Swap: 4096, Counted: true}, "max\n": {Swap: Unbounded, Counted: true}, "": {Swap: Unbounded},
	} {
		f := newFake(t, mounted2, "0::/\n")
		for name, value := range map[string]string{"memory.max": "8192\n", "pids.max": "3\n"} {
			f.put(t, filepath.Join(f.top, "box", name), value)
		}
		if text != "" {
			f.put(t, filepath.Join(f.top, "box", swapMax), text)
		}
		want.Limits = Limits{Memory: 8192, CPUs: Unbounded, Pids: 3}
		if got, err := bounds2(filepath.Join(f.top, "box")); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestBoundsOfMemoryAndSwap: in version 1 both are bounded together.
func TestBoundsOfMemoryAndSwap(t *testing.T) {
	for text, want := range map[string]int64{"8192\n": 0, "12288\n": 4096, "": Unbounded} {
		f := newFake(t, mounted2, "0::/\n")
		for name, value := range map[string]string{
			"memory.limit_in_bytes": "8192\n", "pids.max": "3\n", "cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n",
		} {
			f.put(t, filepath.Join(f.top, "box", name), value)
		}
		if text != "" {
			f.put(t, filepath.Join(f.top, "box", memswap), text)
		}
		tops, groups := map[string]string{}, map[string]string{}
		for _, controller := range []string{memory, processes, processors} {
			tops[controller], groups[controller] = f.top, "/box"
		}
		if got, err := bounds1(tops, groups, "/box"); err != nil || got.Swap != want || got.Counted != (text != "") {
			t.Errorf("%q: %+v, %v; want %d", text, got, err, want)
		}
	}
}

// TestWithoutCPU: where time on processors cannot be bounded all else is.
func TestWithoutCPU(t *testing.T) {
	f := newFake(t, mounted2, "0::/ours.service\n")
	f.group(t, "ours.service", "memory pids\n")
	tree, err := find(f.proc, false)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(f.top, "ours.service/cgroup.subtree_control")); err != nil || string(text) != "+memory +pids" {
		t.Errorf("%q, %v", text, err)
	}
	plan := tree.Plan("group", roomy)
	for _, name := range []string{"memory.max", "pids.max"} {
		f.put(t, filepath.Join(f.top, "ours.service/group", name), "")
	}
	if _, err := plan.Make(); tree.CPU() || err != nil {
		t.Errorf("bounded: %t, %v", tree.CPU(), err)
	}
	plan.Free = false
	if _, err := plan.Make(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the oracle is dead: a limit that was promised is left out: %v", err)
	}
}

// TestNoGroups: each reason names what is missing, and what to do.
func TestNoGroups(t *testing.T) {
	one := "30 1 0:26 / TOP rw - cgroup cgroup rw,memory,pids,cpu,cpuacct\n"
	for want, f := range map[string]fake{
		"none are mounted":                           newFake(t, "", "0::/\n"),
		"run the watcher as r":                       newFake(t, one, ""),
		"no such file":                               newFake(t, mounted2, "0::/not-there\n"),
		"the controller memory is missing; delegate": newFake(t, mounted2, "0::/bare\n"),
		"the controller pids is missing; delegate":   newFake(t, mounted2, "0::/less\n"),
	} {
		f.group(t, "bare", "")
		f.group(t, "less", "cpu memory")
		want, hint, _ := strings.Cut(want, "; ")
		if _, err := find(f.proc, false); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestMoveDown(t *testing.T) {
	f := newFake(t, "", "")
	f.group(t, "", "")
	f.group(t, watchersGroup, "")
	f.put(t, filepath.Join(f.top, procs), "4711\n")
	if err := moveDown(f.top); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(f.top, watchersGroup, procs)); err != nil || string(text) != "4711" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestVersion2Files: limits are written and use is read where version 2 has them.
func TestVersion2Files(t *testing.T) {
	f := newFake(t, "", "")
	for name, text := range map[string]string{
		"memory.max": "", "memory.swap.max": "", "pids.max": "", "cpu.max": "",
		"memory.peak": "1048576\n", "memory.events": "low 0\noom 3\noom_kill 2\n", "cpu.stat": "usage_usec 1500\nuser_usec 1\n",
	} {
		f.put(t, filepath.Join(f.top, name), text)
	}
	group, err := Plan{Dirs: map[string]string{unified: f.top}, Limits: Limits{Memory: 4096, CPUs: 250, Pids: 7}}.Make()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": "4096", "memory.swap.max": "0", "pids.max": "7", "cpu.max": "25000 100000"} {
		if text, err := os.ReadFile(filepath.Join(f.top, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q (%v), want %q", name, text, err, want)
		}
	}
	if use := group.Use(); use != (Use{PeakMemory: 1 << 20, CPUTime: 1500 * time.Microsecond, Killed: 2}) {
		t.Errorf("%+v", use)
	}
	err = group.Start(func(dir *os.File) error {
		if dir == nil || dir.Name() != f.top {
			t.Errorf("to fork into there is %v", dir)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	f.put(t, filepath.Join(f.top, "cgroup.kill"), "")
	if err := group.Kill(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(f.top, "cgroup.kill")); err != nil || string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
}
