package docker

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Options say what a Launcher works with. Installation, StateDir, InitPath and Bases are required.
type Options struct {
	// Installation is 16 hexadecimal digits. Everything that the launcher makes carries it, and what does not carry
	// it is not touched (I14).
	Installation string
	// Host is the engine's address, "unix:///run/docker.sock" for one. Empty means the environment's DOCKER_HOST or the default.
	Host string
	// Runtime is what the engine starts sandboxes with, by its own name for it. Empty is the engine's default.
	Runtime string
	// StateDir is a directory of the host's own, which no outbox or root holds. The launcher keeps its slots there.
	StateDir string
	// InitPath is the sandbox-init program.
	InitPath string
	// Bases are the operator's directories, opened. They stay the caller's; the launcher keeps its own state and the
	// engine's sockets from them.
	Bases *mounts.Bases
	// EnginePath is how the engine sees a path of StateDir. Nil means just as we do.
	EnginePath func(here string) (engine string, err error)
	// UIDs are the identities of sandboxes.
	UIDs UIDRange
	// Mounts is how workspaces reach sandboxes; empty is MountAuto.
	Mounts MountMode
	// Engines are the sockets of engines that the configuration names, for whichever launcher. No sandbox gets one.
	Engines []string
	// Known are the sandboxes of runs that have not ended. What those on another engine have on this machine stays as it is.
	Known []sandbox.Handle
	// Log gets what an operator should know. Nil is silence.
	Log *slog.Logger
	// Observe is told of every call to the engine once it has returned. It must be quick and may be nil.
	Observe func(op string, took time.Duration)
}

// UIDRange is a range of user and group ids for sandboxes.
type UIDRange = local.UIDRange

// MountMode is how workspaces and context reach a sandbox.
type MountMode string

// The modes.
const (
	MountAuto     MountMode = "auto"      // by handle where a trial shows that it works, otherwise by path
	MountByHandle MountMode = "by-handle" // by handle or not at all
	MountByPath   MountMode = "by-path"   // the engine looks the path up, and init proves what it found
)

// checked is the options with defaults, or what is wrong with them.
func (o Options) checked() (Options, error) {
	if !isHex(o.Installation, 16) {
		return o, fmt.Errorf("installation id %q is not 16 hexadecimal digits", o.Installation)
	}
	if !filepath.IsAbs(o.StateDir) {
		return o, fmt.Errorf("state directory %q is not an absolute path", o.StateDir)
	}
	if o.InitPath == "" || o.Bases == nil {
		return o, errors.New("a launcher needs the path of sandbox-init and the operator's directories")
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	var err error
	o.UIDs, err = o.UIDs.Checked()
	return o, err
}

// isHex says whether s is exactly n lower-case hexadecimal digits.
func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
