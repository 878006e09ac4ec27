package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torno/internal/retry"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
)

// An engine that dies while it starts a container believes, when it is back, that it never did. What it started lives on,
// and it can neither see nor end it: a second start would be a second run, and a removal removes the name only.

// proveUnstarted makes sure that a container of which the engine says so was indeed never started: the engine that made it
// still lives, and would know.
func (l *Launcher) proveUnstarted(ctx context.Context, h sandbox.Handle, created string) error {
	knows, err := l.engine.RemembersCreating(ctx, h.ID, engine.Time(created))
	if err != nil {
		return l.identity.Wrap(err, "ask about", h)
	}
	if !knows {
		return fmt.Errorf("start container %s: the engine has forgotten what it did with it: %w", h.ID, sandbox.ErrUncertain)
	}
	return nil
}

// remains are the processes of a container that its engine may not know: all in its control group. A process leaves no group,
// but a user of the host can make groups of any name where systemd lets that user, so the user counts, too.
type remains struct {
	container string
	users     func(uid uint32) bool
}

// remainsOf are those of a container that has run as a user; 0 where no label says which.
func (l *Launcher) remainsOf(container string, uid uint32) remains {
	return remains{container, func(other uint32) bool { return other != 0 && (other == uid || l.options.UIDs.Has(other)) }}
}

// endForgotten kills what an engine has forgotten, and returns when nothing of it is left. A watcher that does not see the
// processes of the engine's host sees none of these.
func (l *Launcher) endForgotten(ctx context.Context, r remains) error {
	for told := false; ; told = true {
		left, err := r.kill()
		if left == 0 {
			return err
		}
		if !told {
			l.options.Log.Warn("ending what the engine has started and forgotten", "container", r.container, "processes", left)
		}
		if stop := retry.Pause(ctx, retry.Later); stop != nil {
			return errors.Join(fmt.Errorf("container %s was removed and %d of its processes live: %w", r.container, left, stop), err)
		}
	}
}

// kill kills every process of the container, and says how many there were. A process of root's in the container's group is the
// runtime's, which is about to become the sandbox's user: it is counted, and not killed.
func (r remains) kill() (found int, err error) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // it fails for bad patterns only
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		process, gone := os.FindProcess(pid) // a handle (pidfd), opened before the look, so that no later process of the number is killed
		if gone != nil {
			continue
		}
		if uid, in := r.look(dir); in && r.users(uid) {
			found++
			err = errors.Join(err, engine.Ignore(process.Kill(), os.ErrProcessDone))
		} else if in && uid == 0 {
			found++
		}
		_ = process.Release() // it is not a child of ours
	}
	return found, err
}

// look says whether a process is in the container's control group, and whose it is. A process that has ended and was not waited
// for is none any more.
func (r remains) look(dir string) (uid uint32, in bool) {
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil || !anyGroupOf(string(groups), r.container) {
		return 0, false
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // behind its name, which is the child's
	if err != nil || strings.HasPrefix(state, " Z") || strings.HasPrefix(state, " X") {
		return 0, false
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0, false
	}
	return userOf(string(status))
}

// userOf is the user of a process whose ids are all the same one. A sandbox's process can change none of them.
func userOf(status string) (uid uint32, ok bool) {
	for line := range strings.Lines(status) {
		ids, found := strings.CutPrefix(line, "Uid:")
		if !found {
			continue
		}
		all := slices.Compact(strings.Fields(ids))
		if len(all) != 1 {
			return 0, false
		}
		id, err := strconv.ParseUint(all[0], 10, 32)
		return uint32(id), err == nil
	}
	return 0, false
}

// anyGroupOf says whether one of a process's control groups, as the kernel lists them, is that of a container or lies in it.
func anyGroupOf(groups, container string) bool {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && isGroupOf(parts[2], container) {
			return true
		}
	}
	return false
}

// isGroupOf says whether a control group is that of a container, or lies in it. Engines write <parent>/<id> themselves, and have
// systemd make <slice>/docker-<id>.scope; which parent, the engine's configuration says and its API does not. Below user.slice are
// the groups that ordinary users name.
func isGroupOf(path, container string) bool {
	above := ""
	for element := range strings.SplitSeq(path, "/") {
		switch {
		case element == "user.slice":
			return false
		case element == container:
			return true
		case element == "docker-"+container+".scope" && (strings.HasSuffix(above, ".slice") || above == ".."): // .. in a namespace
			return true
		}
		above = element
	}
	return false
}
