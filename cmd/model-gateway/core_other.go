//go:build !linux

package main

import "golang.org/x/sys/unix"

// closeCore forbids core files of this process.
func closeCore() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }
