package cgroups

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/retry"
)

const (
	procs   = "cgroup.procs"
	memswap = "memory.memsw.limit_in_bytes"
	swapMax = "memory.swap.max"
	period  = 100_000 // microseconds; a group gets its part of each period
)

// Group is a group that was made.
type Group struct{ plan Plan }

// Make makes the group if it does not exist yet, and sets its limits.
func (p Plan) Make() (*Group, error) {
	if p.Limits.Memory <= 0 || p.Limits.CPUs <= 0 || p.Limits.Pids <= 0 {
		return nil, fmt.Errorf("a group needs positive limits: %+v", p.Limits)
	}
	g := &Group{p}
	for _, controller := range g.controllers() {
		dir := p.Dirs[controller]
		if err := makeAll(dir, controller == unified); err != nil {
			return g, fmt.Errorf("make the control group %s: %w", dir, err)
		}
		if err := g.limit(controller, dir); err != nil {
			return g, fmt.Errorf("limit the control group %s: %w", dir, err)
		}
	}
	return g, nil
}

// Group returns the plan's group, whether or not it was made.
func (p Plan) Group() *Group { return &Group{p} }

// Above returns the plan of the group that contains this one.
func (p Plan) Above() Plan {
	above := Plan{Dirs: map[string]string{}, Free: p.Free}
	for controller, dir := range p.Dirs {
		above.Dirs[controller] = filepath.Dir(dir)
	}
	return above
}

func (g *Group) controllers() []string { return slices.Sorted(maps.Keys(g.plan.Dirs)) }

// makeAll makes a directory and the missing ones above it. In version 2 the groups above hand the controllers down.
func makeAll(dir string, hand bool) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		above := filepath.Dir(dir)
		if err := makeAll(above, hand); err != nil {
			return err
		}
		if hand {
			if _, err := enable(above); err != nil {
				return err
			}
		}
		err = os.Mkdir(dir, 0o755)
	}
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	return err
}

// limit sets the limits of one controller.
func (g *Group) limit(controller, dir string) error {
	l := g.plan.Limits
	quota := l.CPUs * period / 1000
	switch controller {
	case memory:
		return errors.Join(
			write(dir, "memory.limit_in_bytes", strconv.FormatInt(l.Memory, 10)),
			writeIfThere(dir, memswap, strconv.FormatInt(l.Memory, 10)))
	case processes:
		return write(dir, "pids.max", strconv.FormatInt(l.Pids, 10))
	case processors:
		return errors.Join(
			write(dir, "cpu.cfs_period_us", strconv.Itoa(period)),
			write(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
	case unified:
		return errors.Join(
			write(dir, "memory.max", strconv.FormatInt(l.Memory, 10)),
			writeIfThere(dir, swapMax, "0"),
			write(dir, "pids.max", strconv.FormatInt(l.Pids, 10)),
			g.limitCPU(dir, fmt.Sprintf("%d %d", quota, period)))
	}
	return nil
}

func (g *Group) limitCPU(dir, most string) error {
	if g.plan.Free {
		return nil
	}
	return write(dir, "cpu.max", most)
}

// Start calls fork on a thread that is in the group, so every process that fork starts there is in the group too. In
// version 2 only whole processes can be in a group. Then Start gives fork the group's directory, and fork has to fork
// into it.
func (g *Group) Start(fork func(dir *os.File) error) error {
	if top, ok := g.plan.Dirs[unified]; ok {
		dir, err := os.Open(top)
		if err != nil {
			return err
		}
		defer dir.Close()
		return fork(dir)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first thread of a process cannot end before the others
			defer runtime.UnlockOSThread()
			done <- g.Start(fork) // on another thread, because this one is locked
			return
		}
		done <- g.enterAnd(fork) // never unlocked: the thread ends with the goroutine, so it need not leave the group
	}()
	return <-done
}

// enterAnd moves the calling thread into the group and calls fork. It writes 0 for the thread: for any other number the
// kernel waits until every processor has taken notice, which takes 10 ms or more.
func (g *Group) enterAnd(fork func(dir *os.File) error) error {
	for _, controller := range g.controllers() {
		if err := write(g.plan.Dirs[controller], "tasks", "0"); err != nil {
			return fmt.Errorf("enter the control group %s: %w", g.plan.Dirs[controller], err)
		}
	}
	return fork(nil)
}

// Use reads how much the group has used. A figure that cannot be read is 0.
func (g *Group) Use() Use {
	if dir, ok := g.plan.Dirs[unified]; ok {
		return Use{
			PeakMemory: number(dir, "memory.peak"), Killed: entry(dir, "memory.events", "oom_kill"),
			CPUTime: time.Duration(entry(dir, "cpu.stat", "usage_usec")) * time.Microsecond,
		}
	}
	return Use{
		PeakMemory: number(g.plan.Dirs[memory], "memory.max_usage_in_bytes"),
		Killed:     entry(g.plan.Dirs[memory], "memory.oom_control", "oom_kill"),
		CPUTime:    time.Duration(number(g.plan.Dirs[accounting], "cpuacct.usage")),
	}
}

// Kill kills every process of the group except the calling process, because one of its threads may still be leaving the
// group.
func (g *Group) Kill() error {
	var errs []error
	for _, dir := range g.plan.Dirs {
		err := write(dir, "cgroup.kill", "1") // version 2, Linux 5.14
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = killInside(dir)
		}
		if !errors.Is(err, unix.ENODEV) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// killInside kills by handle. It lists the group again after it has opened the handles: a process that is still listed
// is certainly the process of its handle, even if ids were reused.
func killInside(dir string) error {
	handles := map[int]int{}
	defer func() {
		for _, handle := range handles {
			unix.Close(handle)
		}
	}()
	inside, err := pidsIn(dir)
	for _, pid := range inside {
		if handle, err := unix.PidfdOpen(pid, 0); err == nil {
			handles[pid] = handle
		}
	}
	if err != nil || len(handles) == 0 {
		return err
	}
	inside, err = pidsIn(dir)
	for _, pid := range inside {
		if handle, ok := handles[pid]; ok {
			err = errors.Join(err, ignore(unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0), unix.ESRCH))
		}
	}
	return err
}

// pidsIn lists the processes of a group, without our own.
func pidsIn(dir string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(dir, procs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var pids []int
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 1 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// Remove kills the processes that are left in the group, and removes the group. It can be repeated.
func (g *Group) Remove(ctx context.Context) error {
	for {
		err := g.Kill()
		for _, dir := range g.plan.Dirs {
			if rmErr := ignore(unix.Rmdir(dir), unix.ENOENT); rmErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", dir, rmErr))
			}
		}
		if err == nil {
			return nil
		}
		if retry.Pause(ctx, retry.Soon) != nil { // the kernel does not report when a killed process has left
			return fmt.Errorf("remove a control group: %w", err)
		}
	}
}

// RemoveIfEmpty removes the group if it contains neither processes nor groups.
func (g *Group) RemoveIfEmpty() error {
	var errs []error
	for _, dir := range g.plan.Dirs {
		err := unix.Rmdir(dir)
		if err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("remove the control group %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

func write(dir, name, value string) error {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

func writeIfThere(dir, name, value string) error {
	return ignore(write(dir, name, value), fs.ErrNotExist)
}

// number reads a file that contains one number.
func number(dir, name string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// entry returns the number after a word.
func entry(dir, name, word string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == word {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n
		}
	}
	return 0
}

// ignore returns nil for errors of one kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
