package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Unbounded stands for a bound that a group does not have.
const Unbounded = -1

// Bounds tells how a group is bounded.
type Bounds struct {
	Limits
	Swap    int64 // bytes that may be swapped out; Unbounded if the kernel does not count swap
	Counted bool  // the kernel counts and bounds swap
	Used    int64 // bytes of memory in use; 0 if unknown
}

// ReadBounds reads the bounds of a process's groups. The map is the kernel's list from /proc/<pid>/cgroup: controllers
// and their groups, with the key "" for version 2. The error is fs.ErrNotExist if the hierarchies are not mounted here.
// Processors are in thousandths.
func ReadBounds(groups map[string]string) (Bounds, error) {
	if tops := knownTops.Load(); tops != nil && areTops(*tops) {
		if bounds, err := boundsBelow(*tops, groups); err == nil {
			return bounds, nil
		}
	}
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Bounds{}, err
	}
	tops := topsOf(string(mounted))
	knownTops.Store(&tops)
	return boundsBelow(tops, groups)
}

// knownTops caches the mount points of the hierarchies from the last look. A watcher sees several mounts for each of
// its sandboxes, and reading them all at each look took longer than the rest of it.
var knownTops atomic.Pointer[map[string]string]

// areTops reports whether hierarchies are still mounted at these points.
func areTops(tops map[string]string) bool {
	for _, controller := range []string{memory, processes, processors, unified} {
		top, ok := tops[controller]
		if !ok {
			continue
		}
		var at unix.Statfs_t
		if unix.Statfs(top, &at) != nil || at.Type != unix.CGROUP_SUPER_MAGIC && at.Type != unix.CGROUP2_SUPER_MAGIC {
			return false
		}
	}
	return true
}

func boundsBelow(tops, groups map[string]string) (Bounds, error) {
	if path, ok := groups[memory]; ok && tops[memory] != "" {
		return bounds1(tops, groups, path)
	}
	top, ok := tops[unified]
	if !ok {
		return Bounds{}, fmt.Errorf("no control groups are mounted: %w", fs.ErrNotExist)
	}
	return bounds2(filepath.Join(top, groups[""]))
}

func bounds1(tops, groups map[string]string, path string) (b Bounds, err error) {
	var errs [5]error
	var quota, every, both int64
	b.Memory, errs[0] = readBound(filepath.Join(tops[memory], path, "memory.limit_in_bytes"))
	b.Pids, errs[1] = readBound(filepath.Join(tops[processes], groups[processes], "pids.max"))
	quota, errs[2] = readBound(filepath.Join(tops[processors], groups[processors], "cpu.cfs_quota_us"))
	every, errs[3] = readBound(filepath.Join(tops[processors], groups[processors], "cpu.cfs_period_us"))
	b.CPUs = thousandths(quota, every)
	b.Used = readUsed(filepath.Join(tops[memory], path, "memory.usage_in_bytes"))
	both, b.Counted, errs[4] = readSwap(filepath.Join(tops[memory], path, memswap))
	b.Swap = Unbounded
	if b.Counted && both != Unbounded {
		b.Swap = both - b.Memory
	}
	return b, errors.Join(errs[:]...)
}

func bounds2(dir string) (b Bounds, err error) {
	var errs [4]error
	b.Memory, errs[0] = readBound(filepath.Join(dir, "memory.max"))
	b.Pids, errs[1] = readBound(filepath.Join(dir, "pids.max"))
	b.Swap, b.Counted, errs[3] = readSwap(filepath.Join(dir, swapMax))
	b.CPUs = Unbounded
	b.Used = readUsed(filepath.Join(dir, "memory.current"))
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if errors.Is(err, fs.ErrNotExist) { // the controller may be missing
		return b, errors.Join(errs[:]...)
	}
	errs[2] = err
	quota, every, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	q, err1 := parseBound(quota)
	e, err2 := parseBound(every)
	b.CPUs = thousandths(q, e)
	return b, errors.Join(append(errs[:], err1, err2)...)
}

// readUsed reads how much memory is in use; 0 if unknown.
func readUsed(file string) int64 {
	used, err := readBound(file)
	if err != nil {
		return 0
	}
	return max(used, 0)
}

func thousandths(quota, every int64) int64 {
	if quota <= 0 || every <= 0 {
		return Unbounded
	}
	return quota * 1000 / every
}

// readSwap reads a bound that some kernels do not have.
func readSwap(file string) (bound int64, counted bool, err error) {
	bound, err = readBound(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Unbounded, false, nil
	}
	return bound, err == nil, err
}

func readBound(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Unbounded, err
	}
	return parseBound(strings.TrimSpace(string(text)))
}

func parseBound(text string) (int64, error) {
	if text == "max" || text == "" {
		return Unbounded, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Unbounded, fmt.Errorf("a control group's bound is %q", text)
	}
	return n, nil
}
