package house

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const runsc = "runsc"

// boxYard is the state directory of a house whose sandboxes are gVisor's, and the machine's processes.
type boxYard struct{ *House }

func (y *boxYard) dir() string { return filepath.Join(y.State, GVisor) }

func (y *boxYard) box(id string) string { return filepath.Join(y.dir(), "boxes", id) }

// trialBox is the one in which a watcher tries, when it starts, what works.
var trialBox = strings.Repeat("0", 32)

// sandboxes are the boxes. A box runs as long as its kernel does.
func (y *boxYard) sandboxes() (all []Sandbox) {
	y.Helper()
	entries, err := os.ReadDir(y.box(""))
	if !errors.Is(err, fs.ErrNotExist) {
		y.Must(err)
	}
	for _, e := range entries {
		if id := e.Name(); len(id) == len(trialBox) && id != trialBox {
			all = append(all, Sandbox{ID: id, Sandbox: id, Running: len(y.Processes(id, Sentry)) > 0})
		}
	}
	return all
}

// The processes that stand beside a sandbox, or are it.
const (
	Keeper = "sandbox-keeper"
	Sentry = "runsc-sandbox"
	Gofer  = "runsc-gofer"
)

// Processes are the processes of a sandbox of gVisor that have a name; all of them for "".
func (h *House) Processes(id, name string) (pids []int) {
	h.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	h.Must(err)
	for _, line := range lines {
		text, _ := os.ReadFile(line) // a process that has ended since has no file
		program, _, _ := bytes.Cut(text, []byte{0})
		if !bytes.Contains(text, []byte(filepath.Join(h.State, GVisor, "boxes", id))) || name != "" && filepath.Base(string(program)) != name {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		h.Must(err)
		pids = append(pids, pid)
	}
	return pids
}

// Strike sends a signal to the processes of a sandbox that have a name, and returns how many there were.
func (h *House) Strike(id, name string, signal syscall.Signal) int {
	h.Helper()
	struck := h.Processes(id, name)
	for _, pid := range struck {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			h.Fatal(err)
		}
	}
	return len(struck)
}

// remove kills the keeper first, so that no process notes how the rest ended.
func (y *boxYard) remove(s Sandbox) {
	y.Helper()
	for _, name := range []string{Keeper, Sentry} {
		y.Strike(s.ID, name, syscall.SIGKILL)
		y.Eventually(name+" is dead", func() bool { return len(y.Processes(s.ID, name)) == 0 })
	}
	y.Must(os.RemoveAll(y.box(s.ID)))
}

// countingKeeper stands before sandbox-keeper. It notes each start, before there is one.
const countingKeeper = `#!/bin/sh
echo "${1##*/}" >>'%s' || exit 1
exec '%s' "$@"
`

// count has every start noted, and returns the program that does it.
func (y *boxYard) count() (program string) {
	y.Helper()
	program = filepath.Join(y.Dir, "counting-keeper")
	y.Must(os.WriteFile(program, fmt.Appendf(nil, countingKeeper, y.counts(), Program(Keeper)), 0o755))
	y.Must(os.WriteFile(y.counts(), nil, 0o600))
	y.own(y.counts())
	return program
}

func (y *boxYard) counts() string { return filepath.Join(y.Dir, "starts") }

func (y *boxYard) starts() map[string]int {
	y.Helper()
	counts := map[string]int{}
	for id := range strings.FieldsSeq(y.Read(y.counts())) {
		if id != trialBox {
			counts[id]++
		}
	}
	return counts
}

func (y *boxYard) remains() (words []string) {
	y.Helper()
	for _, pid := range y.Processes("", "") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words = append(words, fmt.Sprintf("the process %d: %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	for line := range strings.Lines(y.Read("/proc/self/mountinfo")) {
		if strings.Contains(line, filepath.Join(y.dir(), "slots")+"/") {
			words = append(words, "the mount "+line)
		}
	}
	return append(words, y.Groups("*")...)
}

func (y *boxYard) left() (words []string) {
	y.Helper()
	if _, err := os.Lstat(y.dir()); !errors.Is(err, fs.ErrNotExist) {
		words = append(words, "the directory "+y.dir())
	}
	return append(append(words, y.remains()...), y.Groups("")...)
}

// Groups are the control groups of a sandbox of gVisor, in either version, or those of the installation for "".
func (h *House) Groups(sandbox string) (found []string) {
	h.Helper()
	id := h.installation()
	tops := []string{"/sys/fs/cgroup/torno", "/sys/fs/cgroup/*/torno"}
	if h.plan.Delegated != "" {
		tops = append(tops, filepath.Join(h.plan.Delegated, "torno"))
	}
	for _, top := range tops {
		groups, err := filepath.Glob(filepath.Join(top, id, sandbox))
		h.Must(err)
		for _, group := range groups {
			if info, err := os.Stat(group); id != "" && err == nil && info.IsDir() {
				found = append(found, group)
			}
		}
	}
	return found
}
