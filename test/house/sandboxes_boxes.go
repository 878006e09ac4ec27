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

// sandboxes are the boxes. One runs as long as its kernel does.
func (y *boxYard) sandboxes() (all []Sandbox) {
	y.Helper()
	entries, err := os.ReadDir(y.box(""))
	if !errors.Is(err, fs.ErrNotExist) {
		y.Must(err)
	}
	for _, e := range entries {
		if id := e.Name(); len(id) == len(trialBox) && id != trialBox {
			all = append(all, Sandbox{ID: id, Run: id, Running: len(y.Processes(id, Sentry)) > 0})
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

// Processes are those of a sandbox of gVisor that have a name, or all of them for "".
func (h *House) Processes(id, name string) (pids []int) {
	h.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	h.Must(err)
	for _, line := range lines {
		text, _ := os.ReadFile(line) // one that has ended since has none
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

// Kill kills all processes of a sandbox that have a name, and waits until they are dead.
func (h *House) Kill(id, name string) {
	h.Helper()
	killed := h.Processes(id, name)
	if len(killed) == 0 {
		h.Fatalf("sandbox %s has no process %s", id, name)
	}
	for _, pid := range killed {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			h.Fatal(err)
		}
	}
	h.Eventually(name+" is dead", func() bool { return len(h.Processes(id, name)) == 0 })
}

// remove kills the keeper first, so that nobody notes how the rest ended.
func (y *boxYard) remove(s Sandbox) {
	y.Helper()
	y.Kill(s.ID, Keeper)
	y.Kill(s.ID, Sentry)
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
	return program
}

func (y *boxYard) counts() string { return filepath.Join(y.Dir, "starts") }

func (y *boxYard) starts() map[string]int {
	y.Helper()
	counts := map[string]int{}
	for run := range strings.FieldsSeq(y.Read(y.counts())) {
		if run != trialBox {
			counts[run]++
		}
	}
	return counts
}

func (y *boxYard) left() (words []string) {
	if _, err := os.Lstat(y.dir()); !errors.Is(err, fs.ErrNotExist) {
		words = append(words, "the directory "+y.dir())
	}
	for _, pid := range y.Processes("", "") {
		words = append(words, fmt.Sprintf("the process %d: %s", pid, strings.ReplaceAll(y.Read(fmt.Sprintf("/proc/%d/cmdline", pid)), "\x00", " ")))
	}
	if id := y.installation(); id != "" {
		for _, place := range []string{"/sys/fs/cgroup/torno/", "/sys/fs/cgroup/*/torno/"} {
			groups, err := filepath.Glob(place + id)
			y.Must(err)
			words = append(words, groups...)
		}
	}
	return words
}
