//go:build linux

package initproc

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

func TestEveryLimitOfTheRunFileIsKnown(t *testing.T) {
	if len(rlimits) != len(runfile.RlimitNames) {
		t.Errorf("%d and %d", len(rlimits), len(runfile.RlimitNames))
	}
	for name := range rlimits {
		if !slices.Contains(runfile.RlimitNames, name) {
			t.Errorf("%s is not in the run file", name)
		}
	}
}

// TestCloseOnExec leaks a descriptor and lets each of the two ways find it.
func TestCloseOnExec(t *testing.T) {
	for name, close := range map[string]func() error{"by range": closeOnExec, "by list": closeOnExecByList} {
		fd, err := unix.Dup(unix.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		err = close()
		flags, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err := errors.Join(err, err2); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: flags %#x, %v", name, flags, err)
		}
		if flags, err := unix.FcntlInt(uintptr(unix.Stderr), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			t.Errorf("%s: standard error has flags %#x, %v", name, flags, err)
		}
	}
}
