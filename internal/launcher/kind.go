package launcher

import (
	"context"

	"torno/internal/doctor"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Launcher is a sandbox.Launcher as a host has it.
type Launcher interface {
	sandbox.Launcher
	Close() error
}

// ImageHolder is a Launcher that knows which images it has.
type ImageHolder interface {
	HasImage(ctx context.Context, ref string) (bool, error)
}

// Kind is a kind of launcher. All of its functions are set.
type Kind struct {
	Name   string        // what profiles, the journal and the configuration call it
	Nature doctor.Nature // what never changes about it, for people
	Keys   []Key         // of the object with its name in the configuration; none is possible

	// Unsuited says why it cannot give a sandbox that root file system, and what to write instead, or "".
	Unsuited func(sandbox.RootFS) string
	// Reach says quickly, and without making anything, whether it can be used here. The error is an *UnusableError.
	Reach func(context.Context, Settings) error
	// Open makes it ready. Its own files are in the directory of its name in StateDir.
	Open func(context.Context, Setting) (Launcher, error)
	// About asks what makes the sandboxes about itself, and Left about what installations have there.
	About func(context.Context, Settings) (doctor.Launcher, error)
	Left  func(context.Context, Settings) ([]doctor.Leftover, error)
	// Purge removes everything of an installation but its own files. It needs no InitPath and no Bases.
	Purge func(context.Context, Setting) error
}

// Setting is what a launcher is opened with.
type Setting struct {
	local.Options
	Settings   Settings // its own keys of the configuration
	Mounts     string   // the configuration's word for how workspaces get into sandboxes
	Floor      int64    // bytes that have to stay free on the state's file system
	FloorFiles int64    // inodes, too
}

// UnusableError says why a launcher cannot be used on this machine.
type UnusableError struct {
	Code string // one word for programs: "no_engine"
	Said string // what parents may know too; "" says no more than that it cannot be used
	Next string // what to do about it
	// Absent says that nothing is where the configuration looks for it, which tells more than that a file is missing there.
	Absent bool
	Err    error
}

func (e *UnusableError) Error() string { return e.Err.Error() }

func (e *UnusableError) Unwrap() error { return e.Err }
