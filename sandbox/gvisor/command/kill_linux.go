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

// SentryUser is the user as which gVisor runs the sentry where it can choose.
const SentryUser = 65534

// KillKeeper kills the keeper of a box.
func KillKeeper(ctx context.Context, box string) error { return killAll(ctx, box, isKeeper) }

// Kill kills all of a box's runtime that lives: runsc itself, the sentry, the gofer. Whatever else happens to have the
// box in its command line, such as an operator's tail of a log, is left alone.
func Kill(ctx context.Context, box string) error { return killAll(ctx, box, isRuntime) }

// belongs says whether a process with such arguments belongs to a box.
type belongs func(pid int, args []string, box string) bool

// isKeeper says whether a process is the keeper of a box: it was started with the box alone, and works in it.
func isKeeper(pid int, args []string, box string) bool {
	if len(args) != 2 || args[1] != box {
		return false
	}
	works, err1 := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	is, err2 := os.Stat(box)
	return err1 == nil && err2 == nil && os.SameFile(works, is)
}

// isRuntime says whether a process is the runtime's: by the name that it goes by, and by the box that it was given as its bundle, for
// the sandbox of that id. All of the runtime's processes are called so; one that only mentions the box is another's.
func isRuntime(_ int, args []string, box string) bool {
	if len(args) == 0 || !strings.HasPrefix(filepath.Base(args[0]), "runsc") || args[len(args)-1] != filepath.Base(box) {
		return false
	}
	for i, arg := range args {
		if arg == "--bundle="+box || arg == "--bundle" && args[i+1] == box { // it is not the last one
			return true
		}
	}
	return false
}

// looksAtAnExec is how often killAll looks again at processes that show no arguments: 40 ms for what takes the kernel microseconds.
const looksAtAnExec = 20

// killAll kills the processes that belong to a box, until there are none. A process that is just becoming another program shows no arguments
// yet, so killAll looks again: else it would call a sandbox gone that is about to start. It does not wait for ever, since a program
// may hide its arguments for good.
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

// killOnce goes through all processes once. It counts those that it killed, and those that show no arguments.
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

// killOne kills a process of a box: by a handle, since the number may be another's by now. It reports whether the process shows arguments.
func killOne(pid int, box string, is belongs) (killed, shown bool, err error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, true, nil // it has ended
	}
	defer unix.Close(handle)
	args, shown := argumentsOf(pid)
	if !isOurs(pid) || !is(pid, args, box) {
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

// isOurs says whether a process is of a user that the runtime's processes have. What a process calls itself is its own choice: one of
// another user that calls itself the runtime, again and again, would keep a sandbox from being gone.
func isOurs(pid int) bool {
	var st unix.Stat_t
	if unix.Stat(filepath.Join("/proc", strconv.Itoa(pid)), &st) != nil {
		return false
	}
	me := uint32(os.Geteuid())
	return st.Uid == 0 || st.Uid == me || me == 0 && st.Uid == SentryUser
}

// argumentsOf returns the arguments that a process shows, and false where it has a program and shows none. What has ended, and what is
// the kernel's, has no arguments to show.
func argumentsOf(pid int) (args []string, shown bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if len(line) > 0 {
		return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), true
	}
	_, noProgram := os.Readlink(filepath.Join(dir, "exe"))
	return nil, err != nil || noProgram != nil
}
