package docker

import (
	"context"
	"fmt"

	"torno/sandbox"
	"torno/sandbox/docker/box"
	"torno/sandbox/docker/create"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
)

// prepared is a sandbox that was made ahead of a run. The first look at it, before any run, finds its init's process
// and our mounts in it. After that the engine is not asked again until the release.
type prepared struct {
	*create.Prepared
	init   int // process id; 0 before the first look
	floors map[string]uint64
	wanted *processes.Wanted
}

// CanPrepare returns the reason why sandboxes cannot be made ahead of runs here; nil if they can.
func (l *Launcher) CanPrepare() error {
	switch {
	case !l.byHandle:
		return create.ErrByPath
	case processes.Unseen != "":
		return fmt.Errorf("sandboxes cannot be attested: %s", processes.Unseen)
	case l.unattested != "":
		return fmt.Errorf("sandboxes cannot be attested: %s", l.unattested)
	}
	return nil
}

// Prepare makes a sandbox of a shape; nothing in it runs yet. It goes on with Start and Open, like any other sandbox.
func (l *Launcher) Prepare(ctx context.Context, id sandbox.SandboxID, shape sandbox.Shape) (sandbox.Handle, error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return sandbox.Handle{}, err
	}
	if err := l.CanPrepare(); err != nil {
		return sandbox.Handle{}, err
	}
	if err := l.identity.Demand(ctx); err != nil {
		return sandbox.Handle{}, err
	}
	created, p, err := l.ground().Prepare(ctx, id, shape)
	if err != nil {
		return sandbox.Handle{}, err
	}
	h := created.Handle
	l.remember(h.ID, box.New(box.Given{ID: id, Slot: created.Slot, UID: created.UID, Wanted: created.Wanted, Token: created.Token}))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared[h.ID] = &prepared{Prepared: p, wanted: created.Wanted}
	return h, nil
}

// Furnish brings a run into a prepared sandbox whose init holds and that was attested while empty. It asks the engine
// nothing. A *delegation.Refusal is the request's fault. After any error the sandbox must be removed.
func (l *Launcher) Furnish(ctx context.Context, h sandbox.Handle, spec sandbox.Spec) (sandbox.Handle, error) {
	if err := local.CheckGuarantees(spec, l.guarantees); err != nil {
		return h, err
	}
	p := l.preparedOf(h.ID)
	if p == nil || p.init == 0 {
		return h, fmt.Errorf("furnish container %s, which was not prepared: %w", h.ID, sandbox.ErrNotHeld)
	}
	f, err := l.ground().Furnish(ctx, p.Prepared, p.floors, local.Order{ID: h.Sandbox, Spec: spec, Bases: l.options.Bases})
	if err != nil {
		return h, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared[h.ID] = &prepared{Prepared: p.Prepared, init: p.init, wanted: f.Wanted}
	h.Device, h.Inode = f.Device, f.Inode
	return h, nil
}

// Weigh returns the memory that a prepared sandbox takes, as its control group counts it.
func (l *Launcher) Weigh(h sandbox.Handle) int64 {
	p := l.preparedOf(h.ID)
	if p == nil || p.init == 0 {
		return 0
	}
	return attest.MemoryOf(p.init)
}

// preparedOf returns the record of a prepared sandbox; nil for every other sandbox.
func (l *Launcher) preparedOf(container string) *prepared {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prepared[container]
}

// learnPrepared records the first look at an empty sandbox. No sandbox gets a run before that.
func (l *Launcher) learnPrepared(container string, p *prepared, seen processes.Seen, init int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p != nil && p.init == 0 {
		l.prepared[container] = &prepared{Prepared: p.Prepared, init: init, floors: seen.Floors, wanted: p.wanted}
	}
}
