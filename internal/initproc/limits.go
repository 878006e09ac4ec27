//go:build linux

package initproc

import (
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

var rlimits = map[string]int{
	"core":   unix.RLIMIT_CORE,
	"fsize":  unix.RLIMIT_FSIZE,
	"nofile": unix.RLIMIT_NOFILE,
	"nproc":  unix.RLIMIT_NPROC,
}

// setLimits puts init itself under the umask and the limits, so that the agent inherits them. Package syscall must set
// them: it raised the soft limit of open files when the program started. It gives the agent the old limit back, unless
// it knows that the limit was set.
func setLimits(umask int, limits []runfile.Rlimit) error {
	unix.Umask(umask)
	for _, limit := range limits {
		resource, ok := rlimits[limit.Name]
		if !ok {
			return refuse(runfile.FailureSetup, "limit %q is not known", limit.Name)
		}
		var had syscall.Rlimit
		if err := syscall.Getrlimit(resource, &had); err != nil {
			return refuse(runfile.FailureSetup, "limit %s: %w", limit.Name, err)
		}
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit.Value, Max: limit.Value}); err != nil {
			return refuse(runfile.FailureSetup, "limit %s to %d, but at most %d is possible here: %w", limit.Name, limit.Value, had.Max, err)
		}
	}
	return nil
}

// closeOnExec makes sure that the agent inherits only its three streams, whatever the engine left open.
func closeOnExec() error {
	if unix.CloseRange(uint(unix.Stderr)+1, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return closeOnExecByList() // before Linux 5.11
}

func closeOnExecByList() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return refuse(runfile.FailureSetup, "open descriptors cannot be listed: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > unix.Stderr {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
