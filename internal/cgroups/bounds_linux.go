package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Unbounded is a bound that a group does not have.
const Unbounded = -1

// ReadBounds reads what bounds the groups of a process, which the kernel lists by their controllers (in /proc/<pid>/cgroup; ""
// for version 2). The error is fs.ErrNotExist where the hierarchies are not mounted here. Processors are in thousandths.
func ReadBounds(groups map[string]string) (Limits, error) {
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Limits{}, err
	}
	tops := topsOf(string(mounted))
	if path, ok := groups[memory]; ok && tops[memory] != "" {
		return bounds1(tops, groups, path)
	}
	top, ok := tops[unified]
	if !ok {
		return Limits{}, fmt.Errorf("no control groups are mounted: %w", fs.ErrNotExist)
	}
	return bounds2(filepath.Join(top, groups[""]))
}

func bounds1(tops, groups map[string]string, path string) (l Limits, err error) {
	var errs [4]error
	var quota, every int64
	l.Memory, errs[0] = readBound(filepath.Join(tops[memory], path, "memory.limit_in_bytes"))
	l.Pids, errs[1] = readBound(filepath.Join(tops[processes], groups[processes], "pids.max"))
	quota, errs[2] = readBound(filepath.Join(tops[processors], groups[processors], "cpu.cfs_quota_us"))
	every, errs[3] = readBound(filepath.Join(tops[processors], groups[processors], "cpu.cfs_period_us"))
	l.CPUs = thousandths(quota, every)
	return l, errors.Join(errs[:]...)
}

func bounds2(dir string) (l Limits, err error) {
	var errs [3]error
	l.Memory, errs[0] = readBound(filepath.Join(dir, "memory.max"))
	l.Pids, errs[1] = readBound(filepath.Join(dir, "pids.max"))
	l.CPUs = Unbounded
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if errors.Is(err, fs.ErrNotExist) { // the controller need not be there
		return l, errors.Join(errs[:]...)
	}
	errs[2] = err
	quota, every, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	q, err1 := parseBound(quota)
	e, err2 := parseBound(every)
	l.CPUs = thousandths(q, e)
	return l, errors.Join(errs[0], errs[1], errs[2], err1, err2)
}

func thousandths(quota, every int64) int64 {
	if quota <= 0 || every <= 0 {
		return Unbounded
	}
	return quota * 1000 / every
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
