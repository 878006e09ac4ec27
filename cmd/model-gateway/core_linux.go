package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// closeCore forbids core files of this process, and keeps other processes of its user from reading its memory.
func closeCore() error {
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
	)
}
