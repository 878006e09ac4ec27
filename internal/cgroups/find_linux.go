package cgroups

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is a place where groups can be made.
type Tree struct {
	dirs map[string]string // by controller
	swap bool              // swapping can be ruled out
	free bool              // processor time cannot be bounded
}

// Find looks for the controllers. Root makes groups beneath the top of each hierarchy. Any other user makes them
// beneath the group that was delegated to this user; only version 2 can delegate.
func Find() (Tree, error) { return find("/proc/self", os.Geteuid() == 0) }

func find(proc string, root bool) (Tree, error) {
	mounted, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return Tree{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	own, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return Tree{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	tops := topsOf(string(mounted))
	if tree, ok := version1(tops); ok {
		if !root {
			return Tree{}, fmt.Errorf("%w: version 1 cannot be delegated; run the watcher as root, or boot with version 2", ErrNone)
		}
		return tree, tree.writable()
	}
	return version2(tops[unified], ownGroup(string(own)), root)
}

// keep notes a mount point. Only the first one counts: later ones are further mounts of the same hierarchy, and may be
// gone soon.
func keep(tops map[string]string, controller, top string) {
	if _, ok := tops[controller]; !ok {
		tops[controller] = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(top)
	}
}

// topsOf returns the mount points of the hierarchies, by controller.
func topsOf(mountinfo string) map[string]string {
	tops := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			keep(tops, unified, fields[4])
		case "cgroup":
			for option := range strings.SplitSeq(kind[2], ",") {
				keep(tops, option, fields[4])
			}
		}
	}
	return tops
}

// ownGroup returns this process's group in version 2.
func ownGroup(groups string) string {
	for line := range strings.Lines(groups) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path
		}
	}
	return "/"
}

// version1 returns a tree if all controllers have hierarchies of version 1.
func version1(tops map[string]string) (Tree, bool) {
	tree := Tree{dirs: map[string]string{}}
	for _, controller := range []string{memory, processes, processors, accounting} {
		top, ok := tops[controller]
		if !ok {
			return Tree{}, false
		}
		tree.dirs[controller] = top
	}
	tree.swap = there(tree.dirs[memory], memswap)
	return tree, true
}

// version2 returns a tree of version 2. Below the top, a group with processes of its own can have no groups with
// limits. So the processes of the delegated group first move into a group below it.
func version2(top, own string, root bool) (Tree, error) {
	if top == "" {
		return Tree{}, fmt.Errorf("%w: none are mounted", ErrNone)
	}
	dir := top
	if !root {
		dir = filepath.Join(top, strings.TrimSuffix(own, "/"+watchersGroup)) // perhaps this process moved itself earlier
	}
	tree := Tree{dirs: map[string]string{unified: dir}}
	if err := tree.writable(); err != nil {
		return Tree{}, err
	}
	cpu, err := enable(dir)
	for tries := 0; errors.Is(err, unix.EBUSY) && tries < moves; tries++ {
		if err = moveDown(dir); err == nil {
			cpu, err = enable(dir)
		}
	}
	if err != nil {
		return Tree{}, fmt.Errorf("%w beneath %s: %w; delegate the memory, pids and cpu controllers (systemd: Delegate=yes)", ErrNone, dir, err)
	}
	tree.free = !cpu
	tree.swap, err = countsSwap(dir)
	return tree, err
}

// countsSwap reports whether the kernel can keep the groups beneath a directory from swapping; some kernels have no
// bound for it. The top of the hierarchy never has this bound, so countsSwap makes a group there and looks at it.
func countsSwap(dir string) (bool, error) {
	if there(dir, swapMax) {
		return true, nil
	}
	probe, err := os.MkdirTemp(dir, "torno-look-")
	if err != nil {
		return false, fmt.Errorf("%w beneath %s: %w", ErrNone, dir, err)
	}
	counts := there(probe, swapMax)
	return counts, os.Remove(probe)
}

func there(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// moves bounds how often processes are moved down: new ones may begin in the meantime.
const moves = 10

// writable returns nil if groups can be made at all.
func (t Tree) writable() error {
	for _, dir := range t.dirs {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Errorf("%w beneath %s: %w", ErrNone, dir, err)
		}
	}
	return nil
}

// enable lets the groups beneath a directory have limits. The controller for processors may be missing: for a long
// time, service managers of users were given only memory and pids (systemd before 252).
func enable(dir string) (cpu bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return false, err
	}
	offered := strings.Fields(string(text))
	for _, controller := range []string{memory, processes} {
		if !slices.Contains(offered, controller) {
			return false, fmt.Errorf("the controller %s is missing", controller)
		}
	}
	wanted := "+memory +pids"
	if cpu = slices.Contains(offered, processors); cpu {
		wanted += " +cpu"
	}
	return cpu, write(dir, "cgroup.subtree_control", wanted)
}

// watchersGroup is the group that the processes of a delegated group move into.
const watchersGroup = "torno-watcher"

func moveDown(dir string) error {
	down := filepath.Join(dir, watchersGroup)
	if err := os.Mkdir(down, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	inside, err := os.ReadFile(filepath.Join(dir, procs))
	if err != nil {
		return err
	}
	for _, pid := range bytes.Fields(inside) {
		if err := write(down, procs, string(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// Swap reports whether swapping can be ruled out, so that a group cannot swap memory out to get around its limit.
func (t Tree) Swap() bool { return t.swap }

// CPU reports whether processor time can be bounded here.
func (t Tree) CPU() bool { return !t.free }

// Version returns 1 or 2.
func (t Tree) Version() int {
	if t.dirs[unified] != "" {
		return 2
	}
	return 1
}

// Plan returns the plan of a group. name may contain slashes.
func (t Tree) Plan(name string, limits Limits) Plan {
	plan := Plan{Dirs: map[string]string{}, Limits: limits, Free: t.free}
	for controller, dir := range t.dirs {
		plan.Dirs[controller] = filepath.Join(dir, name)
	}
	return plan
}

// HasProcesses reports whether a process is in a group, or in a group below it.
func (t Tree) HasProcesses(name string) bool {
	for _, dir := range t.dirs {
		found := false
		_ = filepath.WalkDir(filepath.Join(dir, name), func(at string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				inside, _ := os.ReadFile(filepath.Join(at, procs)) // a group may end meanwhile
				found = found || len(inside) > 0
			}
			return nil
		})
		if found {
			return true
		}
	}
	return false
}

// Left lists the existing groups directly below the group name: an earlier process left them.
func (t Tree) Left(name string) ([]string, error) {
	found := map[string]bool{}
	for _, dir := range t.dirs {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, entry := range entries {
			if entry.IsDir() {
				found[entry.Name()] = true
			}
		}
	}
	names := []string{}
	for entry := range found {
		names = append(names, entry)
	}
	slices.Sort(names)
	return names, nil
}
