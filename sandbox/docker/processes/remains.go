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

// Remains are the processes of a container that its engine may not know: all in its control group. A process leaves no group,
// but a user of the host can make groups of any name where systemd lets that user, so the user counts, too.
type Remains struct {
	container string
	users     func(uid uint32) bool
}

// RemainsOf are those of a container that has run as a user, 0 where no label says which, or as one of the sandboxes' users.
func RemainsOf(container string, uid uint32, users local.UIDRange) Remains {
	return Remains{container, func(other uint32) bool { return other != 0 && (other == uid || users.Has(other)) }}
}

// End kills what an engine has forgotten, and returns when nothing of it is left. A watcher that does not see the
// processes of the engine's host sees none of these.
func (r Remains) End(ctx context.Context, log *slog.Logger) error {
	for told := false; ; told = true {
		left, err := r.Kill()
		if left == 0 {
			return err
		}
		if !told {
			log.Warn("ending what the engine has started and forgotten", "container", r.container, "processes", left)
		}
		if stop := retry.Pause(ctx, retry.Later); stop != nil {
			return errors.Join(fmt.Errorf("container %s was removed and %d of its processes live: %w", r.container, left, stop), err)
		}
	}
}

// Kill kills every process of the container, and says how many there were. A process of root's in the container's group is the
// runtime's, which is about to become the sandbox's user: it is counted, and not killed.
func (r Remains) Kill() (found int, err error) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // it fails for bad patterns only
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		process, gone := os.FindProcess(pid) // a handle (pidfd), opened before the look, so that no later process of the number is killed
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

// look says whether a process is in the container's control group, and whose it is. A process that has ended and was not waited
// for is none any more.
func (r Remains) look(dir string) (uid uint32, in bool) {
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil || !anyGroupOf(string(groups), r.container) {
		return 0, false
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // after its name, which is the child's
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
