package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"torno/sandbox"
)

// An engine that dies while it starts a container believes, when it is back, that it never did. What it started lives on,
// and it can neither see nor end it: a second start would be a second run, and a removal removes the name only.

// proveUnstarted makes sure that a container of which the engine says so was indeed never started: the engine that made it
// still lives, and would know.
func (l *Launcher) proveUnstarted(ctx context.Context, h sandbox.Handle, created string) error {
	knows, err := l.engine.remembersCreating(ctx, h.ID, engineTime(created))
	if err != nil {
		return l.wrap(err, "ask about", h)
	}
	if !knows {
		return fmt.Errorf("start container %s: the engine has forgotten what it did with it: %w", h.ID, sandbox.ErrUncertain)
	}
	return nil
}

// endForgotten kills what an engine has forgotten, and returns when nothing of it is left. Who does not see the processes of
// the engine's host sees none of these.
func (l *Launcher) endForgotten(ctx context.Context, id string) error {
	for told := false; ; told = true {
		left, err := killContainer(id)
		if left == 0 {
			return err
		}
		if !told {
			l.options.Log.Warn("ending what the engine has started and forgotten", "container", id, "processes", left)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("container %s was removed and %d of its processes live: %w", id, left, ctx.Err()), err)
		}
	}
}

// killContainer kills every process of a container, and says how many there were.
func killContainer(id string) (found int, err error) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // it fails for bad patterns only
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		process, gone := os.FindProcess(pid) // a handle, where the system has them, so that it is the one that is looked at
		if gone != nil {
			continue
		}
		if inContainer(dir, id) {
			found++
			err = errors.Join(err, ignore(process.Kill(), os.ErrProcessDone))
		}
		_ = process.Release() // it is not a child of ours
	}
	return found, err
}

// inContainer says whether a process is in a container's control group, which it cannot leave. One that has ended, and was
// not waited for, is no process any more.
func inContainer(dir, id string) bool {
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil || !strings.Contains(string(groups), id) {
		return false
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // behind its name, which is the child's
	return err == nil && !strings.HasPrefix(state, " Z") && !strings.HasPrefix(state, " X")
}
