package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"torno/sandbox"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/processes"
)

// Attest looks at a sandbox that holds: at its init, which is the container's only process.
func (l *Launcher) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	if err := h.On(l.identity.Name()); err != nil {
		return sandbox.Attestation{}, err
	}
	if processes.Unseen != "" {
		return sandbox.Attestation{Why: processes.Unseen}, nil
	}
	b := l.known(h.ID)
	if b == nil || b.Wanted == nil {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s, which an earlier life has made: %w", h.ID, sandbox.ErrUncertain)
	}
	if l.unattested != "" {
		return sandbox.Attestation{Why: l.unattested}, nil
	}
	found, err := l.engine.Inspect(ctx, h.ID)
	if err != nil {
		return sandbox.Attestation{}, l.identity.Wrap(err, "look at", h)
	}
	if found.State == nil || !found.State.Running {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s: %w", h.ID, sandbox.ErrNotHeld)
	}
	seen, err := l.lookInto(processes.Subject{
		Container: h.ID, Pid: found.State.Pid, Program: l.init, Wanted: b.Wanted, Enforced: l.facts.Limits, Trial: b.ID == names.RoleTrial,
	})
	// The trial proved that these files exist here, so a missing one means that init has ended.
	if errors.Is(err, fs.ErrNotExist) && b.ID != names.RoleTrial {
		err = sandbox.ErrNotHeld
	}
	if err != nil {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s: %w", h.ID, err)
	}
	b.WatchEnd(seen.Death)
	return seen.Attestation, nil
}

// lookInto looks at an init. In the trial it learns which limits the kernel does not have.
func (l *Launcher) lookInto(s processes.Subject) (processes.Seen, error) {
	seen, err := s.Look()
	if seen.SwapUncounted {
		l.facts.Limits[sandbox.SwapLimit] = false
	}
	return seen, err
}
