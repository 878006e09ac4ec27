package gvisor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/internal/doctor"
	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
)

// TestPurge: what runs is dead, and nothing of an installation is on the machine but its files.
func TestPurge(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	l := h.launch(base, "ours")
	spec := specOf(base, "", "/bin/sleep", "1000")
	spec.RootFS = sandbox.RootFS{Host: true}
	made, err := l.Create(t.Context(), sandbox.NewSandboxID(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	o := h.options(base, "ours")
	defer o.Bases.Close()
	left, err := gvisor.Left()
	ours := func(l doctor.Leftover) bool {
		return l.Installation == string(o.Installation) && l.State == o.StateDir && l.Running == 1
	}
	if err != nil || !slices.ContainsFunc(left, ours) {
		t.Fatalf("a sandbox that runs is not found with its state directory %s: %+v, %v", o.StateDir, left, err)
	}
	h.crash(l)
	if err := gvisor.Purge(t.Context(), gvisor.Options{Options: local.Options{Installation: o.Installation, StateDir: o.StateDir}}); err != nil {
		t.Fatal(err)
	}
	if left, err := gvisor.Left(); err != nil || strings.Contains(strings.Join(ids(left), " "), string(o.Installation)) {
		t.Errorf("%v, %v", left, err)
	}
	if groups, err := filepath.Glob("/sys/fs/cgroup/*/torno/" + string(o.Installation)); err != nil || len(groups) > 0 {
		t.Errorf("groups are left: %v, %v", groups, err)
	}
	if mounted, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounted), o.StateDir) {
		t.Errorf("something is mounted still, or %v", err)
	}
	if err := os.RemoveAll(filepath.Join(o.StateDir, gvisor.Name)); err != nil {
		t.Error(err)
	}
}

func ids(left []doctor.Leftover) (all []string) {
	for _, l := range left {
		all = append(all, l.Installation)
	}
	return all
}
