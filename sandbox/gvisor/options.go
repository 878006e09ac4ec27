package gvisor

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Options say what a Launcher works with. Installation, StateDir, InitPath, KeeperPath and Bases are required.
type Options struct {
	// Installation is 16 hexadecimal digits. Control groups carry it; everything else is in StateDir.
	Installation string
	// StateDir is a directory of the host's own, which no outbox or root holds.
	StateDir string
	// InitPath and KeeperPath are the programs sandbox-init and sandbox-keeper. Runsc is gVisor's, which is looked for beside
	// our own program and in PATH where it is not given.
	InitPath, KeeperPath, Runsc string
	// Bases are the operator's directories, opened. They stay the caller's; the launcher keeps its own state from them.
	Bases *mounts.Bases
	// UIDs are the identities of sandboxes, where the watcher may give them some.
	UIDs local.UIDRange
	// ImageCache bounds what unpacked images take on the disk; 0 is the default.
	ImageCache int64
	// Floor and FloorFiles are the bytes and inodes that unpacking an image leaves free on the state's file system.
	Floor, FloorFiles int64
	// Engines are the sockets of engines that the configuration names, for whichever launcher. No sandbox gets one.
	Engines []string
	// Known are the sandboxes of runs that have not ended. Control groups of those of another directory are left alone.
	Known []sandbox.Handle
	// Log gets what an operator should know. Nil is silence.
	Log *slog.Logger
}

const defaultImageCache = 20 << 30

func (o Options) checked() (Options, error) {
	if !isInstallation(o.Installation) || !filepath.IsAbs(o.StateDir) {
		return o, fmt.Errorf("installation %q and state directory %q are not both given", o.Installation, o.StateDir)
	}
	if o.InitPath == "" || o.KeeperPath == "" || o.Bases == nil {
		return o, errors.New("a launcher needs sandbox-init, sandbox-keeper and the operator's directories")
	}
	if o.ImageCache <= 0 {
		o.ImageCache = defaultImageCache
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	o.UIDs, err = o.UIDs.Checked()
	return o, err
}

// isInstallation says whether an id can be part of a path and of the name of a control group.
func isInstallation(id string) bool {
	return len(id) == 16 && strings.Trim(id, "0123456789abcdef") == ""
}
