package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"torno/internal/attest"
	"torno/internal/mounts"
	"torno/internal/stage"
	"torno/sandbox"
)

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) error {
	trial := stage.Trial{Dir: filepath.Join(l.dir(), stage.TrialName), Owner: l.trialOwner()}
	return trial.Run(ctx, trier{l}, func(ctx context.Context, spec sandbox.Spec, bases *mounts.Bases) (sandbox.Handle, error) {
		return l.create(ctx, order{id: roleTrial, spec: spec, bases: bases})
	})
}

// trier is a launcher in its trial, which learns whether the host can look into sandboxes.
type trier struct{ *Launcher }

// Attest notes why the host cannot look; that does not fail the trial.
func (t trier) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	seen, err := t.Launcher.Attest(ctx, h)
	if errors.Is(err, attest.ErrCannotLook) {
		t.unattested = err
		return sandbox.Attestation{Why: err.Error()}, nil
	}
	return seen, err
}

// trialOwner is whom the trial's workspace belongs to. By path that is whom the sandbox runs as, which is never root.
func (l *Launcher) trialOwner() uint32 {
	if own := uint32(os.Geteuid()); own != 0 || l.byHandle {
		return own
	}
	return l.options.UIDs.First
}
