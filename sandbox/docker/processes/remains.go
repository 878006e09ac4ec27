package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torno/internal/retry"
	"torno/sandbox/local"
)

// Remains are the processes of a container that its engine may not know: all processes in its control group. A process
// cannot leave its group. But where systemd allows it, a user of the host can make groups with any name. So the
// process's user counts, too.
type Remains struct {
	container string
	users     func(uid uint32) bool
}

// RemainsOf returns the remains of a container that ran as uid, or as one of the sandboxes' users. uid is 0 if no label
// tells it.
func RemainsOf(container string, uid uint32, users local.UIDRange) Remains {
	return Remains{container, func(other uint32) bool { return other != 0 && (other == uid || users.Has(other)) }}
}

// End kills the processes that an engine has forgotten, and returns when none of them is left. If the watcher does not
// see the processes of the engine's host, End finds none.
func (r Remains) End(ctx context.Context, log *slog.Logger) error {
	for told := false; ; told = true {
		left, err := r.Kill()
		if left == 0 {
			return err
		}
		if !told {
			log.Warn("ending processes that the engine has started and forgotten", "container", r.container, "processes", left)
		}
		if stop := retry.Pause(ctx, retry.Later); stop != nil {
			return errors.Join(fmt.Errorf("container %s was removed, but %d of its processes still live: %w", r.container, left, stop), err)
		}
	}
}

// Kill kills every process of the container, and returns how many there were. If a process of root is in the
// container's group, it belongs to the runtime and is about to become the sandbox's user. Kill counts it, but does not
// kill it.
func (r Remains) Kill() (found int, err error) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails only for bad patterns
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		// FindProcess opens a handle (pidfd). It comes before the look, so that a later process with the same number is
		// never killed.
		process, gone := os.FindProcess(pid)
		if gone != nil {
			continue
		}
		if uid, in := r.look(dir); in && r.users(uid) {
			found++
			err = errors.Join(err, ignoreDone(process.Kill()))
		} else if in && uid == 0 {
			found++
		}
		_ = process.Release() // it is not a child of ours
	}
	return found, err
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// look reports whether a process is in the container's control group, and returns its user. A process that has ended
// but was not waited for does not count.
func (r Remains) look(dir string) (uid uint32, in bool) {
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil || !anyGroupOf(string(groups), r.container) {
		return 0, false
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // after its name, which the child chooses
	if err != nil || strings.HasPrefix(state, " Z") || strings.HasPrefix(state, " X") {
		return 0, false
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0, false
	}
	return userOf(string(status))
}

// userOf returns the user of a process whose ids are all equal. A sandbox's process can change none of its ids.
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
