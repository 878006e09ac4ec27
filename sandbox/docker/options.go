package docker

import (
	"fmt"
	"time"

	"torno/sandbox/local"
)

// Options say what a Launcher works with, beside what every launcher does.
type Options struct {
	local.Options
	// Host is the engine's address, "unix:///run/docker.sock" for one. Empty means the environment's DOCKER_HOST or the default.
	Host string
	// Runtime is what the engine starts sandboxes with, by its own name for it. Empty is the engine's default.
	Runtime string
	// EnginePath is how the engine sees a path of StateDir. Nil means just as we do.
	EnginePath func(here string) (engine string, err error)
	// Mounts is how workspaces reach sandboxes; empty is MountAuto.
	Mounts MountMode
	// Observe is told of every call to the engine once it has returned. It must be quick and may be nil.
	Observe func(op string, took time.Duration)
}

// MountMode is how workspaces and context reach a sandbox.
type MountMode string

// The modes.
const (
	MountAuto     MountMode = "auto"      // by handle where a trial shows that it works, otherwise by path
	MountByHandle MountMode = "by-handle" // by handle or not at all
	MountByPath   MountMode = "by-path"   // the engine looks the path up, and init proves what it found
)

// checked is the options with defaults, or what is wrong with them.
func (o Options) checked() (_ Options, err error) {
	if o.Options, err = o.Checked(); err != nil {
		return o, err
	}
	if o.Mounts == "" {
		o.Mounts = MountAuto
	}
	if o.Mounts != MountAuto && o.Mounts != MountByHandle && o.Mounts != MountByPath {
		return o, fmt.Errorf("mounts %q is none of %s, %s and %s", o.Mounts, MountAuto, MountByHandle, MountByPath)
	}
	if o.EnginePath == nil {
		o.EnginePath = func(here string) (string, error) { return here, nil }
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	return o, nil
}
