package house

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// freezer is where control groups of version 1 can stop processes. In version 2 a process that was stopped so can be killed.
const freezer = "/sys/fs/cgroup/freezer"

// Freeze stops processes where they are, and those that they make meanwhile. Until they are let on they do nothing and, what a signal
// cannot do, die of nothing. find lists them.
func (h *House) Freeze(find func() []int) (letOn func()) {
	h.Helper()
	if _, err := os.Stat(filepath.Join(freezer, "cgroup.procs")); err != nil || os.Geteuid() != 0 {
		h.Skip("NOT SHOWN HERE: processes that are frozen: that takes root, and control groups of version 1:", err)
	}
	group, err := os.MkdirTemp(freezer, "torno-test-")
	h.Must(err)
	set := func(name, value string) error { return os.WriteFile(filepath.Join(group, name), []byte(value), 0) }
	before := map[int]string{}
	letOn = sync.OnceFunc(func() {
		h.Helper()
		h.Must(set("freezer.state", "THAWED"))
		for pid, was := range before {
			_ = os.WriteFile(filepath.Join(freezer, was, "cgroup.procs"), fmt.Append(nil, pid), 0) // it may have died since
		}
		h.Eventually("nothing is left in the freezer", func() bool { return os.Remove(group) == nil })
	})
	h.Cleanup(letOn)
	h.Must(set("freezer.state", "FROZEN"))
	for more := true; more; {
		more = false
		for _, pid := range find() {
			was := freezerOf(pid)
			if was == "" || filepath.Join(freezer, was) == group {
				continue
			}
			more, before[pid] = true, was
			if err := set("cgroup.procs", fmt.Sprint(pid)); !errors.Is(err, syscall.ESRCH) {
				h.Must(err)
			}
		}
	}
	if len(before) == 0 {
		h.Fatal("there is nothing to freeze")
	}
	h.Eventually("they are frozen", func() bool { return h.Read(filepath.Join(group, "freezer.state")) == "FROZEN\n" })
	return letOn
}

// freezerOf is the group of a process, "" when it has died.
func freezerOf(pid int) string {
	groups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(groups)) {
		if _, group, found := strings.Cut(line, ":freezer:"); found {
			return strings.TrimSuffix(group, "\n")
		}
	}
	return ""
}

// Inside are the processes in the control groups of a sandbox.
func (h *House) Inside(s Sandbox) (pids []int) {
	h.Helper()
	lists, err := filepath.Glob("/proc/[0-9]*/cgroup")
	h.Must(err)
	for _, list := range lists {
		groups, _ := os.ReadFile(list) // a process that has ended since has no file
		if !slices.ContainsFunc(strings.Split(string(groups), "\n"), func(line string) bool { return strings.HasSuffix(line, "/"+s.ID) }) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(list)))
		h.Must(err)
		pids = append(pids, pid)
	}
	return pids
}
