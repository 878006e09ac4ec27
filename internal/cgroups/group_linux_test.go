package cgroups

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// isDelegated says to an ordinary user's tests that the group which they are in is theirs to change.
const isDelegated = "TORNO_TEST_DELEGATED"

// realTree is the machine's own, where a test may make groups.
func realTree(t *testing.T) Tree {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv(isDelegated) == "" {
		t.Skip("groups are made by root")
	}
	tree, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// newGroup is a group of a test's own, gone after it.
func newGroup(t *testing.T, limits Limits) *Group {
	t.Helper()
	name := "torno-test-" + strconv.Itoa(os.Getpid())
	tree := realTree(t)
	group, err := tree.Plan(name+"/"+strings.ReplaceAll(t.Name(), "/", "-"), limits).Make()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(group.Remove(ctx), tree.Plan(name, Limits{}).Group().Remove(ctx)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return group
}

var roomy = Limits{Memory: 64 << 20, CPUs: 1500, Pids: 50}

// run starts a shell in the group.
func run(t *testing.T, g *Group, script string) *exec.Cmd {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", script)
	err := g.Start(func(dir *os.File) error {
		if dir != nil {
			command.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
		}
		return command.Start()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	return command
}

func TestLimitsArrive(t *testing.T) {
	g := newGroup(t, roomy)
	want := map[string]string{"memory.max": "67108864", "pids.max": "50", "cpu.max": "150000 100000"}
	if g.plan.Free { // what is not there is read as nothing
		want["cpu.max"] = ""
	}
	if g.plan.Dirs[unified] == "" {
		want = map[string]string{"memory.limit_in_bytes": "67108864", "pids.max": "50", "cpu.cfs_quota_us": "150000"}
	}
	for name, value := range want {
		found := ""
		for _, dir := range g.plan.Dirs {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				found = strings.TrimSpace(string(text))
			}
		}
		if found != value {
			t.Errorf("%s is %q, want %q", name, found, value)
		}
	}
}

func TestLimitsAreAsked(t *testing.T) {
	for _, l := range []Limits{{}, {Memory: 1, CPUs: 1}, {Memory: -1, CPUs: 1, Pids: 1}} {
		if _, err := (Plan{Dirs: map[string]string{unified: t.TempDir()}, Limits: l}).Make(); err == nil {
			t.Errorf("a group without all limits is made: %+v", l)
		}
	}
}

func TestAChildBeginsInTheGroup(t *testing.T) {
	g := newGroup(t, roomy)
	command := run(t, g, "exec sleep 60")
	for controller, dir := range g.plan.Dirs {
		inside, err := pidsIn(dir)
		if err != nil || len(inside) != 1 || inside[0] != command.Process.Pid {
			t.Errorf("%s has %v (%v), want %d", controller, inside, err, command.Process.Pid)
		}
	}
}

// TestTheCallerIsNotInTheGroup: the thread that was is gone, or the group could not be removed, and its first thread never
// was, because it could not go.
func TestTheCallerIsNotInTheGroup(t *testing.T) {
	for range 20 {
		g := newGroup(t, roomy)
		for range 20 { // so that the first thread would take its turn
			err := g.Start(func(*os.File) error {
				if g.plan.Dirs[unified] == "" && unix.Gettid() == os.Getpid() {
					t.Error("the first thread of the process is in the group")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Remove(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKillSparesTheCaller(t *testing.T) {
	g := newGroup(t, roomy)
	if g.plan.Dirs[unified] != "" {
		t.Skip("version 2 has no group for a thread")
	}
	err := g.Start(func(*os.File) error { return g.Kill() }) // with the caller's thread in it
	if err != nil {
		t.Fatal(err)
	}
}

func TestMemoryKillIsCounted(t *testing.T) {
	g := newGroup(t, Limits{Memory: 16 << 20, CPUs: 1000, Pids: 50})
	if g.Use().Killed != 0 {
		t.Fatalf("a new group has %+v", g.Use())
	}
	command := run(t, g, "exec tail /dev/zero") // which looks for an end of line
	err := command.Wait()
	if status := command.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		t.Fatalf("%v", err)
	}
	if use := g.Use(); use.Killed != 1 || use.PeakMemory < 10<<20 || use.PeakMemory > 17<<20 || use.CPUTime <= 0 {
		t.Fatalf("%+v", use)
	}
}

// TestProcessesAreBounded: a shell that cannot begin a process says so and ends.
func TestProcessesAreBounded(t *testing.T) {
	for pids, bounded := range map[int64]bool{20: false, 5: true} {
		limits := roomy
		limits.Pids = pids
		g := newGroup(t, limits)
		err := run(t, g, "for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; exit 0").Wait()
		if _, failed := errors.AsType[*exec.ExitError](err); failed != bounded || err != nil && !failed {
			t.Errorf("a shell that begins ten processes in a group for %d: %v", pids, err)
		}
		if err := g.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRemoveKillsAndCanBeRepeated(t *testing.T) {
	g := newGroup(t, roomy)
	command := run(t, g, "trap '' TERM INT; sleep 60 & sleep 60 & wait")
	for range 2 {
		if err := g.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	err := command.Wait()
	if command.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	for _, dir := range g.plan.Dirs {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if use := g.Use(); use != (Use{}) {
		t.Errorf("what is gone uses %+v", use)
	}
}

// TestRemoveHearsTheCaller: a process of which the kernel cannot rid itself would be waited for without end.
func TestRemoveHearsTheCaller(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "busy"), nil, 0o600); err != nil { // a directory that cannot be removed
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := Plan{Dirs: map[string]string{memory: dir}}.Group().Remove(ctx)
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("%v, want an error that names %s", err, dir)
	}
}

func TestLeftAreTheGroupsInOne(t *testing.T) {
	g := newGroup(t, roomy)
	tree := realTree(t)
	left, err := tree.Left("torno-test-" + strconv.Itoa(os.Getpid()))
	if err != nil || len(left) != 1 || left[0] != t.Name() {
		t.Fatalf("%v, %v", left, err)
	}
	if tree.HasProcesses("torno-test-" + strconv.Itoa(os.Getpid())) {
		t.Error("an empty group counts as one with processes")
	}
	if err := g.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := tree.Left("torno-nobody-has-made-this"); err != nil || len(left) != 0 {
		t.Fatalf("%v, %v", left, err)
	}
}
