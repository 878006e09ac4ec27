package cgroups

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBoundsAreReadInAHierarchy: a directory at a former mount point is no hierarchy, even with files of the same names. The reader
// then looks for the mount points anew.
func TestBoundsAreReadInAHierarchy(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{
		"memory.limit_in_bytes", "memory.usage_in_bytes", "pids.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", memswap,
		"memory.max", "memory.current", "cpu.max", swapMax,
	} {
		if err := os.WriteFile(filepath.Join(top, name), []byte("12345\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	groups := map[string]string{memory: "/", processes: "/", processors: "/", unified: "/"}
	for _, elsewhere := range []map[string]string{
		{memory: top, processes: top, processors: top},
		{unified: top},
	} {
		knownTops.Store(&elsewhere)
		if got, err := ReadBounds(groups); err == nil && (got.Memory == 12345 || got.Pids == 12345) {
			t.Errorf("read from %v: %+v", elsewhere, got)
		}
		if found := *knownTops.Load(); found[memory] == top || found[unified] == top {
			t.Errorf("it is not looked for anew: %v", found)
		}
	}
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if tops := topsOf(string(mounted)); !areTops(tops) {
		t.Errorf("not taken for hierarchies: %v", tops)
	}
}
