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

// looksAtAnExec is how often a process that has a program and no arguments is looked at: 40 ms for what takes the kernel microseconds.
const looksAtAnExec = 20

// KillKeeper kills the keeper of a box.
func KillKeeper(ctx context.Context, box string) error { return killAll(ctx, box, isKeeper) }

// isKeeper says whether a process is the keeper of a box: it was started with the box alone, and works in it.
func isKeeper(ctx context.Context, pid int, box string) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	args := argumentsOf(ctx, pid)
	if len(args) != 2 || args[1] != box {
		return false
	}
	works, err1 := os.Stat(filepath.Join(dir, "cwd"))
	is, err2 := os.Stat(box)
	return err1 == nil && err2 == nil && os.SameFile(works, is)
}

// Kill kills all of a box's runtime that lives: runsc itself, the sentry, the gofer. Whatever else happens to have the
// box in its command line, such as an operator's tail of a log, is left alone.
func Kill(ctx context.Context, box string) error { return killAll(ctx, box, isRuntime) }

// killAll kills the processes that belong to a box, until there are none.
func killAll(ctx context.Context, box string, belongs func(ctx context.Context, pid int, box string) bool) error {
	for {
		killed, err := killOnce(ctx, box, belongs)
		if err != nil || killed == 0 {
			return err
		}
		if err := retry.Pause(ctx, retry.Soon); err != nil {
			return err
		}
	}
}

func killOnce(ctx context.Context, box string, belongs func(ctx context.Context, pid int, box string) bool) (killed int, err error) {
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, notPid := strconv.Atoi(entry.Name())
		if notPid != nil || !isOurs(pid) || !belongs(ctx, pid, box) {
			continue
		}
		done, killErr := killOne(ctx, pid, box, belongs)
		err = errors.Join(err, killErr)
		if done {
			killed++
		}
	}
	return killed, err
}

// killOne kills a process of a box: by a handle, since the number may be another's by now.
func killOne(ctx context.Context, pid int, box string, belongs func(ctx context.Context, pid int, box string) bool) (bool, error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, nil // it has ended
	}
	defer unix.Close(handle)
	if !isOurs(pid) || !belongs(ctx, pid, box) {
		return false, nil
	}
	err = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("kill process %d of %s: %w", pid, box, err)
	}
	return true, nil
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

// isRuntime says whether a process is the runtime's: by the name that it goes by, and by the box that it was given as its bundle, for
// the sandbox of that id. All of the runtime's processes are called so; one that only mentions the box is another's.
func isRuntime(ctx context.Context, pid int, box string) bool {
	args := argumentsOf(ctx, pid)
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

// argumentsOf returns the arguments that a process shows, none where it has ended. A process that is just becoming another program has
// that program already and shows no arguments yet: argumentsOf waits until it does, for who missed the runtime then would call a sandbox
// gone that is about to start. A program that hides its arguments for good is waited for only so long.
func argumentsOf(ctx context.Context, pid int) []string {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	for range looksAtAnExec {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(line) > 0 {
			return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		}
		if _, noProgram := os.Readlink(filepath.Join(dir, "exe")); err != nil || noProgram != nil {
			return nil // it has ended, or is the kernel's
		}
		if retry.Pause(ctx, retry.Soon) != nil {
			return nil
		}
	}
	return nil
}
