package docker

import (
	"fmt"
	"time"

	"torno/sandbox/local"
)

// Options configures a Launcher, beside the options that every launcher has.
type Options struct {
	local.Options
	// Host is the engine's address, for example "unix:///run/docker.sock". Empty means the environment's DOCKER_HOST or
	// the default.
	Host string
	// Runtime is the engine's name for the runtime that starts sandboxes. Empty means the engine's default.
	Runtime string
	// EnginePath returns the engine's view of a path of StateDir. Nil means that the engine sees the same path.
	EnginePath func(here string) (engine string, err error)
	// Mounts tells how workspaces reach sandboxes; empty means MountAuto.
	Mounts MountMode
	// Observe is called after every call to the engine has returned. It must be quick and may be nil.
	Observe func(op string, took time.Duration)
}

// MountMode tells how workspaces and context reach a sandbox.
type MountMode string

// The modes.
const (
	MountAuto     MountMode = "auto"      // by handle if a trial shows that it works, otherwise by path
	MountByHandle MountMode = "by-handle" // by handle or not at all
	MountByPath   MountMode = "by-path"   // the engine looks the path up, and init proves the result
)

// checked returns the options with defaults filled in, or an error if they are wrong.
func (o Options) checked() (_ Options, err error) {
	if o.Options, err = o.Checked(); err != nil {
		return o, err
	}
	if o.Mounts == "" {
		o.Mounts = MountAuto
	}
	if o.Mounts != MountAuto && o.Mounts != MountByHandle && o.Mounts != MountByPath {
		return o, fmt.Errorf("mounts %q is not one of %s, %s and %s", o.Mounts, MountAuto, MountByHandle, MountByPath)
	}
	if o.EnginePath == nil {
		o.EnginePath = func(here string) (string, error) { return here, nil }
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	return o, nil
}
