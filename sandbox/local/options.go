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

// Installation is the id of an installation: 16 hexadecimal digits, so that it can be a part of a path, a name or a
// label.
type Installation string

// Valid reports whether the id has this form.
func (i Installation) Valid() bool {
	return len(i) == 16 && strings.Trim(string(i), "0123456789abcdef") == ""
}

// Options are the settings of every launcher. Installation, StateDir, InitPath and Bases are required.
type Options struct {
	// Installation marks everything that the launcher makes outside of StateDir. The launcher touches nothing without
	// this mark (I14).
	Installation Installation
	// StateDir is a directory of the host's own, outside of every outbox and root. In it the launcher has a directory
	// of its own name.
	StateDir string
	// InitPath is the path of the sandbox-init program.
	InitPath string
	// Bases are the operator's directories, opened. They still belong to the caller. The launcher withholds its own
	// state and the engines' sockets from them.
	Bases *mounts.Bases
	// UIDs are the identities for sandboxes, if the watcher may choose them.
	UIDs UIDRange
	// Engines are the engine sockets that the configuration names, for any launcher. No sandbox gets any of them.
	Engines []string
	// Known are the sandboxes of runs that have not ended. Some may belong to another site (another directory or
	// engine). The launcher then keeps everything that they have on this machine.
	Known []sandbox.Handle
	// Log gets the messages for the operator. nil discards them.
	Log *slog.Logger
}

// Checked returns the options with the defaults filled in. The error says what is wrong with them.
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

// CheckedForPurge does the work of Checked for a purge, which needs only Installation and StateDir.
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
