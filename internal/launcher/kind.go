package launcher

import (
	"context"

	"torno/internal/doctor"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Launcher is a sandbox.Launcher that the host can close.
type Launcher interface {
	sandbox.Launcher
	Close() error
}

// ImageHolder is a Launcher that knows which images it has.
type ImageHolder interface {
	HasImage(ctx context.Context, ref string) (bool, error)
}

// Kind describes a kind of launcher. All of its functions must be set.
type Kind struct {
	Name   string        // its name in profiles, in the journal and in the configuration
	Nature doctor.Nature // facts for people that never change
	Keys   []Key         // its keys in the configuration, in the object with its name; may be empty

	// Unsuited returns why the launcher cannot give a sandbox this root file system, and what to write instead. It
	// returns "" if the launcher can.
	Unsuited func(sandbox.RootFS) string
	// Reach finds out quickly, and without making anything, whether the launcher can be used here. Its error is an
	// *UnusableError.
	Reach func(context.Context, Settings) error
	// Open makes the launcher ready. The launcher keeps its own files in StateDir, in a directory of its own name.
	Open func(context.Context, Setting) (Launcher, error)
	// About asks the engine or the program behind the launcher about itself. Left asks it what installations have
	// there.
	About func(context.Context, Settings) (doctor.Launcher, error)
	Left  func(context.Context, Settings) ([]doctor.Leftover, error)
	// Purge removes everything of an installation except its own files. It needs no InitPath and no Bases.
	Purge func(context.Context, Setting) error
}

// Setting holds everything that a launcher needs to open.
type Setting struct {
	local.Options
	Settings   Settings // the values of the launcher's own keys
	Mounts     string   // the configuration's value for mounts: how workspaces get into sandboxes
	Floor      int64    // how many bytes must stay free on the state directory's file system
	FloorFiles int64    // how many inodes must stay free there
}

// UnusableError tells why a launcher cannot be used on this machine.
type UnusableError struct {
	Code string // one word for programs: "no_engine"
	Said string // the reason in words that parents may read, too; "" tells them only that it cannot be used
	Next string // the step to take
	// Absent means that nothing answers at the place that the configuration names. This error then goes before a
	// finding that a file is missing there, because it tells the operator more.
	Absent bool
	Err    error
}

func (e *UnusableError) Error() string { return e.Err.Error() }

func (e *UnusableError) Unwrap() error { return e.Err }
