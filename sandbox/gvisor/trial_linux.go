package gvisor

import (
	"context"
	"os"
	"path/filepath"

	"torno/sandbox/local"
)

// trialID is the name of the box in which is tried what works here.
const trialID = "00000000000000000000000000000000"

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) (err error) {
	trial := local.Trial{ID: trialID, Dir: filepath.Join(l.dir(), local.TrialName), Owner: uint32(os.Geteuid())}
	l.unattested, err = trial.Run(ctx, l, l.create)
	return err
}
