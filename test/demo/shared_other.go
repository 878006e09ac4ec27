//go:build !linux

package main

import (
	"errors"
	"runtime"
)

func bindToItself(string) error {
	return errors.New("the sidecar's demo mounts a directory, which it cannot do on " + runtime.GOOS)
}
