package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"torno/sandbox"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local/attest"
)

// Attest looks at a sandbox that holds. It looks at init, the container's only process.
func (l *Launcher) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	if err := h.On(l.identity.Name()); err != nil {
		return sandbox.Attestation{}, err
	}
	if processes.Unseen != "" {
		return sandbox.Attestation{Why: processes.Unseen}, nil
	}
	b := l.known(h.ID)
	if b == nil || b.Wanted == nil {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s, which an earlier watcher has made: %w", h.ID, sandbox.ErrUncertain)
	}
	if l.unattested != "" {
		return sandbox.Attestation{Why: l.unattested}, nil
	}
	p, wanted := l.preparedOf(h.ID), b.Wanted
	if p != nil {
		wanted = p.wanted
	}
	init, err := l.initOf(ctx, h, p)
	if err != nil {
		return sandbox.Attestation{}, err
	}
	seen, err := l.lookInto(processes.Subject{
		Container: h.ID, Pid: init, Program: l.init, Wanted: wanted, Enforced: l.facts.Limits, Trial: b.ID == names.RoleTrial,
	})
	if p != nil && p.init != 0 && errors.Is(err, attest.ErrCannotLook) { // an earlier look worked, so the process has ended
		err = sandbox.ErrNotHeld
	}
	// The trial proved that these files exist here. So a missing file means that init has ended.
	if errors.Is(err, fs.ErrNotExist) && b.ID != names.RoleTrial {
		err = sandbox.ErrNotHeld
	}
	if err != nil {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s: %w", h.ID, err)
	}
	b.WatchEnd(seen.Death)
	l.learnPrepared(h.ID, p, seen, init)
	return seen.Attestation, nil
}

// initOf returns the process that the engine names as init. For a prepared sandbox it returns the answer from before
// the run came. That answer is as good as a new one, because Attest accepts a process only in the container's control
// group and with init's program.
func (l *Launcher) initOf(ctx context.Context, h sandbox.Handle, p *prepared) (int, error) {
	if p != nil && p.init != 0 {
		return p.init, nil
	}
	found, err := l.engine.Inspect(ctx, h.ID)
	if err != nil {
		return 0, l.identity.Wrap(err, "look at", h)
	}
	if found.State == nil || !found.State.Running {
		return 0, fmt.Errorf("attest container %s: %w", h.ID, sandbox.ErrNotHeld)
	}
	return found.State.Pid, nil
}

// lookInto looks at an init. In the trial it learns which limits the kernel lacks.
func (l *Launcher) lookInto(s processes.Subject) (processes.Seen, error) {
	seen, err := s.Look()
	if seen.SwapUncounted {
		l.facts.Limits[sandbox.SwapLimit] = false
	}
	return seen, err
}
