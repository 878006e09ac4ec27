package docker

import (
	"context"
	"os"
	"path/filepath"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/local"
)

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) (err error) {
	trial := local.Trial{Dir: filepath.Join(l.dir(), local.TrialName), Owner: l.trialOwner()}
	l.unattested, err = trial.Run(ctx, l, func(ctx context.Context, spec sandbox.Spec, bases *mounts.Bases) (sandbox.Handle, error) {
		return l.create(ctx, order{id: roleTrial, spec: spec, bases: bases})
	})
	return err
}

// trialOwner is whom the trial's workspace belongs to. By path that is whom the sandbox runs as, which is never root.
func (l *Launcher) trialOwner() uint32 {
	if own := uint32(os.Geteuid()); own != 0 || l.byHandle {
		return own
	}
	return l.options.UIDs.First
}
