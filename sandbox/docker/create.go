package docker

import (
	"context"
	"errors"

	"torno/sandbox"
	"torno/sandbox/docker/box"
	"torno/sandbox/docker/create"
	"torno/sandbox/local"
)

// Create makes the container of a sandbox, or finds the existing one.
func (l *Launcher) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	if _, err := sandbox.ParseSandboxID(string(id)); err != nil {
		return sandbox.Handle{}, err
	}
	if err := local.CheckGuarantees(spec, l.guarantees); err != nil {
		return sandbox.Handle{}, err
	}
	if l.identity.WasExchanged() {
		if err := l.identity.Prove(ctx); err != nil {
			return sandbox.Handle{}, err
		}
	}
	if err := l.failed.RetryFor(id); err != nil {
		return sandbox.Handle{}, err
	}
	if h, err := l.again(ctx, id); !errors.Is(err, sandbox.ErrNotFound) {
		return h, err
	}
	if err := l.identity.Demand(ctx); err != nil {
		return sandbox.Handle{}, err
	}
	return l.create(ctx, local.Order{ID: id, Spec: spec, Bases: l.options.Bases})
}

// again finds a sandbox that this process already knows, if the engine still has its container.
func (l *Launcher) again(ctx context.Context, id sandbox.SandboxID) (sandbox.Handle, error) {
	container := l.containerOf(id)
	if container == "" {
		return sandbox.Handle{}, sandbox.ErrNotFound
	}
	found, err := l.reach.Look(ctx, sandbox.Handle{ID: container})
	if err != nil {
		return sandbox.Handle{}, err
	}
	h, err := l.names.Handle(container, found.Config.Labels)
	h.Site = l.identity.Name()
	return h, err
}

// create creates a sandbox and remembers it.
func (l *Launcher) create(ctx context.Context, o local.Order) (sandbox.Handle, error) {
	created, err := l.ground().Create(ctx, o)
	if err != nil || !created.New {
		return created.Handle, err
	}
	l.remember(created.Handle.ID, box.New(box.Given{
		ID: o.ID, Slot: created.Slot, UID: created.UID, Wanted: created.Wanted, Token: created.Token,
	}))
	return created.Handle, nil
}

// ground returns everything that new sandboxes have in common, as far as it is known now: the trial finds out the rest.
func (l *Launcher) ground() *create.Ground {
	return &create.Ground{
		Engine: l.engine, Identity: l.identity, Names: l.names, Images: l.images, Shared: l.shared, Filter: l.filter, Failed: l.failed,
		Log: l.options.Log, Runtime: l.options.Runtime, CPUs: l.facts.CPUs, Enforced: l.facts.Limits,
		Shut: l.shut, ByHandle: l.byHandle, Slots: l.slots, IDMaps: l.idmaps, UIDs: l.options.UIDs, EnginePath: l.options.EnginePath, Sockets: l.engineSockets(),
		Restore: func(ctx context.Context) error { _, err := l.restore(ctx); return err },
		Known:   func(container string) bool { return l.known(container) != nil },
	}
}
