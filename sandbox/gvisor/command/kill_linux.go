package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/retry"
)

// SentryUser is the user that gVisor runs the sentry as, if it can choose.
const SentryUser = 65534

// KillKeeper kills the keeper of a box.
func KillKeeper(ctx context.Context, box string) error { return killAll(ctx, box, isKeeper) }

// Kill kills all living processes of a box's runtime: runsc itself, the sentry, the gofer. It leaves alone other
// processes that mention the box in their command line, such as an operator's tail of a log.
func Kill(ctx context.Context, box string) error { return killAll(ctx, box, isRuntime) }

// belongs reports whether a process with these arguments belongs to a box.
type belongs func(pid int, args []string, box string) bool

// Kept returns the boxes on this machine that have a living keeper.
func Kept() (boxes []string, err error) {
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, notPid := strconv.Atoi(entry.Name())
		if notPid != nil || !isOurs(pid) {
			continue
		}
		if args, _ := argumentsOf(pid); len(args) == 2 && filepath.IsAbs(args[1]) && isKeeper(pid, args, args[1]) && isStartedByUs(pid) {
			boxes = append(boxes, args[1])
		}
	}
	return boxes, err
}

// isKeeper reports whether a process is the keeper of a box: the box is its only argument, and its working directory.
func isKeeper(pid int, args []string, box string) bool {
	if len(args) != 2 || args[1] != box {
		return false
	}
	works, err1 := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	is, err2 := os.Stat(box)
	return err1 == nil && err2 == nil && os.SameFile(works, is)
}

// isRuntime reports whether a process belongs to the runtime. It checks the process's name, its bundle, which is the
// box, and its last argument, the sandbox's id. All processes of the runtime have such a command line; a process that
// only mentions the box is something else.
func isRuntime(_ int, args []string, box string) bool {
	if len(args) == 0 || !strings.HasPrefix(filepath.Base(args[0]), "runsc") || args[len(args)-1] != filepath.Base(box) {
		return false
	}
	for i, arg := range args {
		if arg == "--bundle="+box || arg == "--bundle" && args[i+1] == box { // not the last argument, which is the id
			return true
		}
	}
	return false
}

// looksAtAnExec bounds how often killAll looks again at processes that show no arguments: 40 ms for a step that takes
// the kernel microseconds.
const looksAtAnExec = 20

// killAll kills the processes that belong to a box, until there are none. A process that is just executing another
// program shows no arguments yet, so killAll looks again. Otherwise it would miss a sandbox that is about to start. It
// does not wait for ever, because a program may hide its arguments for good.
func killAll(ctx context.Context, box string, is belongs) error {
	for looks := 0; ; {
		killed, hidden, err := killOnce(box, is)
		if err != nil {
			return err
		}
		if killed > 0 {
			looks = 0
		} else if looks++; hidden == 0 || looks > looksAtAnExec {
			return nil
		}
		if err := retry.Pause(ctx, retry.Soon); err != nil {
			return err
		}
	}
}

// killOnce goes through all processes once. It counts the processes that it killed, and the processes that show no
// arguments.
func killOnce(box string, is belongs) (killed, hidden int, err error) {
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, notPid := strconv.Atoi(entry.Name())
		if notPid != nil || !isOurs(pid) {
			continue
		}
		args, shown := argumentsOf(pid)
		done := false
		if is(pid, args, box) {
			var killErr error
			done, shown, killErr = killOne(pid, box, is)
			err = errors.Join(err, killErr)
		}
		if done {
			killed++
		} else if !shown {
			hidden++
		}
	}
	return killed, hidden, err
}

// killOne kills a process of a box by a handle, because by now the pid may belong to another process. shown: the
// process shows its arguments.
func killOne(pid int, box string, is belongs) (killed, shown bool, err error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, true, nil // it has ended
	}
	defer unix.Close(handle)
	args, shown := argumentsOf(pid)
	if !isStartedByUs(pid) || !is(pid, args, box) {
		return false, shown, nil
	}
	err = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, true, nil
	}
	if err != nil {
		return false, shown, fmt.Errorf("kill process %d of %s: %w", pid, box, err)
	}
	return true, shown, nil
}

// isOurs reports whether a process runs as a user of the runtime's processes. A process chooses its own name. If
// another user's process kept calling itself the runtime, a sandbox would never count as gone.
func isOurs(pid int) bool {
	var st unix.Stat_t
	return unix.Stat(filepath.Join("/proc", strconv.Itoa(pid)), &st) == nil && isOurUser(st.Uid)
}

func isOurUser(uid uint32) bool {
	me := uint32(os.Geteuid())
	return uid == 0 || uid == me || me == 0 && uid == SentryUser
}

// isStartedByUs reports whether all user IDs of a process are ours. isOurs looks only at the effective one: any user can
// start a set-user-ID program of root with any arguments, and its real user ID is then still theirs.
func isStartedByUs(pid int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), "\nUid:")
	line, _, _ := strings.Cut(rest, "\n")
	users := strings.Fields(line) // real, effective, saved, of the file system
	for _, user := range users {
		if uid, err := strconv.ParseUint(user, 10, 32); err != nil || !isOurUser(uint32(uid)) {
			return false
		}
	}
	return len(users) == 4
}

// argumentsOf returns the arguments that a process shows. shown is false if the process has a program but shows no
// arguments. An ended process and a kernel thread have none to show, so for them shown is true.
func argumentsOf(pid int) (args []string, shown bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if len(line) > 0 {
		return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), true
	}
	_, noProgram := os.Readlink(filepath.Join(dir, "exe"))
	return nil, err != nil || noProgram != nil
}
