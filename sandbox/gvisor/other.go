//go:build !linux

package gvisor

import (
	"context"
	"runtime"

	"torno/internal/runsc"
	"torno/sandbox"
)

// Launcher only lets the rest of the program compile; there is never one.
type Launcher struct{ sandbox.Launcher }

// New says where it would work.
func New(context.Context, Options) (*Launcher, error) {
	return nil, &runsc.Error{Reason: runsc.NeedsLinux, What: "gVisor works on Linux only, and this is " + runtime.GOOS}
}

func (*Launcher) Close() error { return nil }
