package docker

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// try makes the trial's sandbox, runs it and removes it.
func (l *Launcher) try(ctx context.Context) error {
	l.shut = false // until this trial shows otherwise
	trial := local.Trial{
		ID: names.RoleTrial, Dir: filepath.Join(l.dir(), local.TrialName), Owner: l.trialOwner(),
		Sockets: runtime.GOOS == "linux", // elsewhere the engine's kernel is not the watcher's, and sees none of its sockets
	}
	found, err := trial.Run(ctx, l, l.create)
	l.unattested, l.shut = found.Unattested, found.Shut
	return err
}

// trialOwner returns the owner of the trial's workspace. For mounts by path it is the sandbox's user, which is never
// root.
func (l *Launcher) trialOwner() uint32 {
	if own := uint32(os.Geteuid()); own != 0 || l.byHandle {
		return own
	}
	return l.options.UIDs.First
}
