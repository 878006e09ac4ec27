package gvisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killRuntime kills all of a box's runtime that lives: runsc itself, the sentry, the gofer. Whatever else happens to have the
// box in its command line, such as an operator's tail of a log, is left alone.
func killRuntime(ctx context.Context, box string) error {
	for {
		killed, err := killOnce(box)
		if err != nil || killed == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(endPause):
		}
	}
}

func killOnce(box string) (killed int, err error) {
	entries, err := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, notPid := strconv.Atoi(entry.Name())
		if notPid != nil || !isRuntime(pid, box) {
			continue
		}
		done, killErr := killOne(pid, box)
		if err = errors.Join(err, killErr); done {
			killed++
		}
	}
	return killed, err
}

// killOne kills a process of the runtime: by a handle, since the number may be another's by now.
func killOne(pid int, box string) (bool, error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, nil // it has ended
	}
	defer unix.Close(handle)
	if !isRuntime(pid, box) {
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

// isRuntime says whether a process is the runtime's, by the name that it goes by and the box that it was given.
func isRuntime(pid int, box string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	name, _, _ := bytes.Cut(line, []byte{0})
	return strings.HasPrefix(path.Base(string(name)), "runsc") && bytes.Contains(line, []byte(box))
}
