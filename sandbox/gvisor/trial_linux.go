package gvisor

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

// trialRun is the name of the box in which is tried what works here.
const trialRun = "00000000000000000000000000000000"

// What a trial may take on a slow machine, and its removal after that.
const (
	trialTime   = time.Minute
	cleanupTime = 30 * time.Second
)

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	trial, err := stage.MakeTrial(filepath.Join(l.dir(), stage.TrialName), uint32(os.Geteuid()))
	if err != nil {
		return fmt.Errorf("make a directory for the trial: %w", err)
	}
	bases, err := mounts.OpenBases([]string{trial.Dir})
	if err != nil {
		return fmt.Errorf("open the directory for the trial: %w", err)
	}
	defer bases.Close()
	h, err := l.create(ctx, order{run: trialRun, spec: trial.Spec(), bases: bases})
	if err != nil {
		return fmt.Errorf("trial: %w", err)
	}
	err = stage.RunTrial(ctx, l, h)
	cleanup, cancelCleanup := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancelCleanup()
	return errors.Join(err, l.Remove(cleanup, h))
}
