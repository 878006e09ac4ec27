package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"torno/internal/mounts"
	"torno/internal/stage"
)

// trialTime bounds a trial on a slow machine.
const trialTime = time.Minute

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	trial, err := stage.MakeTrial(filepath.Join(l.dir(), stage.TrialName), l.trialOwner())
	if err != nil {
		return fmt.Errorf("make a directory for the trial: %w", err)
	}
	bases, err := mounts.OpenBases([]string{trial.Dir})
	if err != nil {
		return fmt.Errorf("open the directory for the trial: %w", err)
	}
	defer bases.Close()
	h, err := l.create(ctx, order{run: roleTrial, spec: trial.Spec(), bases: bases})
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	err = stage.RunTrial(ctx, l, h)
	cleanup, cancelCleanup := cleanupContext(ctx)
	defer cancelCleanup()
	return errors.Join(err, l.Remove(cleanup, h))
}

// trialOwner is whom the trial's workspace belongs to. By path that is whom the sandbox runs as, which is never root.
func (l *Launcher) trialOwner() uint32 {
	if own := uint32(os.Geteuid()); own != 0 || l.byHandle {
		return own
	}
	return l.options.UIDs.First
}
