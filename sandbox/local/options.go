package local

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"torno/internal/mounts"
	"torno/sandbox"
)

// Installation is the id of an installation: 16 hexadecimal digits, so that it can be part of a path, a name or a label.
type Installation string

// Valid says whether the id is one.
func (i Installation) Valid() bool {
	return len(i) == 16 && strings.Trim(string(i), "0123456789abcdef") == ""
}

// Options are what every launcher works with. Installation, StateDir, InitPath and Bases are required.
type Options struct {
	// Installation is carried by everything that the launcher makes outside of StateDir. The launcher touches nothing else (I14).
	Installation Installation
	// StateDir is a directory of the host's own, which no outbox or root holds. The launcher has the directory of its name there.
	StateDir string
	// InitPath is the sandbox-init program.
	InitPath string
	// Bases are the operator's directories, opened. They stay the caller's; the launcher keeps its own state and engines' sockets
	// from them.
	Bases *mounts.Bases
	// UIDs are the identities of sandboxes, where the watcher may choose them.
	UIDs UIDRange
	// Engines are the sockets of engines that the configuration names, for any launcher. No sandbox gets one.
	Engines []string
	// Known are the sandboxes of runs that have not ended. Some are elsewhere; the launcher keeps what they have on this machine.
	Known []sandbox.Handle
	// Log gets the messages for the operator. With nil there are none.
	Log *slog.Logger
}

// Checked returns the options with defaults. The error says what is wrong with them.
func (o Options) Checked() (Options, error) {
	if o.InitPath == "" || o.Bases == nil {
		return o, errors.New("a launcher needs the path of sandbox-init and the operator's directories")
	}
	o, err := o.CheckedForPurge()
	if err != nil {
		return o, err
	}
	o.UIDs, err = o.UIDs.Checked()
	return o, err
}

// CheckedForPurge is Checked for a purge, which needs Installation and StateDir alone.
func (o Options) CheckedForPurge() (Options, error) {
	if !o.Installation.Valid() {
		return o, fmt.Errorf("installation id %q is not 16 hexadecimal digits", o.Installation)
	}
	if !filepath.IsAbs(o.StateDir) {
		return o, fmt.Errorf("state directory %q is not an absolute path", o.StateDir)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
