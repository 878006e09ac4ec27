//go:build !linux

package gvisor

import (
	"context"
	"runtime"

	"torno/internal/doctor"
	"torno/internal/runsc"
	"torno/sandbox"
)

// Launcher only lets the rest of the program compile; no value of it is ever made.
type Launcher struct{ sandbox.Launcher }

// New returns an error that says that gVisor needs Linux. So do the other functions here.
func New(context.Context, Options) (*Launcher, error) { return nil, errNeedsLinux }

func Reach(Options) error { return errNeedsLinux }
func About(context.Context, Options) (doctor.Launcher, error) {
	return doctor.Launcher{}, errNeedsLinux
}
func Left() ([]doctor.Leftover, error)     { return nil, nil }
func Purge(context.Context, Options) error { return errNeedsLinux }
func (*Launcher) Close() error             { return nil }

var errNeedsLinux = &runsc.Error{Reason: runsc.NeedsLinux, What: "gVisor works on Linux only, and this is " + runtime.GOOS}
