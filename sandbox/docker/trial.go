package docker

import (
	"context"
	"os"
	"path/filepath"

	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) (err error) {
	trial := local.Trial{ID: names.RoleTrial, Dir: filepath.Join(l.dir(), local.TrialName), Owner: l.trialOwner()}
	l.unattested, err = trial.Run(ctx, l, l.create)
	return err
}

// trialOwner is the user to whom the trial's workspace belongs. By path that is the sandbox's user, which is never root.
func (l *Launcher) trialOwner() uint32 {
	if own := uint32(os.Geteuid()); own != 0 || l.byHandle {
		return own
	}
	return l.options.UIDs.First
}
