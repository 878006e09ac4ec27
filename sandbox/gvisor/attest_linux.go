package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/gvisor/outside"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
)

// Attest looks at the two gVisor processes of a sandbox. The sentry is the sandbox's kernel. The gofer opens the host's
// files for the sentry, and sees everything that the sandbox can see.
func (l *Launcher) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	if err := h.On(l.boxes.Site()); err != nil {
		return sandbox.Attestation{}, err
	}
	if l.unattested != "" {
		return sandbox.Attestation{Why: l.unattested}, nil
	}
	r, err := l.boxes.Read(h.ID)
	if err != nil {
		return sandbox.Attestation{}, err
	}
	if state, err := l.boxes.Keeper(h.ID).State(); err != nil || state != keeper.Live {
		return sandbox.Attestation{}, errors.Join(fmt.Errorf("attest sandbox %s: %w", h.ID, sandbox.ErrNotHeld), err)
	}
	attestation, err := l.observer().Attest(r, l.boxes.Keeper(h.ID))
	// The trial could see such processes, so here the error means that they have ended.
	if errors.Is(err, attest.ErrCannotLook) && errors.Is(err, fs.ErrNotExist) && h.ID != trialID {
		err = sandbox.ErrNotHeld
	}
	if err != nil {
		return sandbox.Attestation{}, fmt.Errorf("attest sandbox %s: %w", h.ID, err)
	}
	if h.ID == trialID {
		l.unbound = l.runsc().Bind(ctx, h.ID, "/tmp", "/tmp")
	}
	return attestation, nil
}

// observer returns this launcher's way to look at its sandboxes.
func (l *Launcher) observer() outside.Observer {
	o := outside.Observer{Program: l.options.Runsc, Ordinary: l.rootless, Groups: l.groups}
	for _, b := range l.shared.system.Binds() {
		o.Shared = append(o.Shared, b.Target)
	}
	return o
}

// trialID is the id of the trial's box.
const trialID = "00000000000000000000000000000000"

// try makes the sandbox of a trial, runs it and removes it.
func (l *Launcher) try(ctx context.Context) error {
	trial := local.Trial{ID: trialID, Dir: filepath.Join(l.dir(), local.TrialName), Owner: uint32(os.Geteuid())}
	found, err := trial.Run(ctx, l, l.create)
	l.unattested = found.Unattested
	return err
}
