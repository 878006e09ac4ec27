package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/box"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/processes"
)

// Remove kills every process of the sandbox, removes the container and empties its slot.
func (l *Launcher) Remove(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.identity.Name()); err != nil {
		return err
	}
	b := l.known(h.ID)
	if b == nil {
		if _, err := l.reach.Look(ctx, h); err != nil {
			return engine.Ignore(err, sandbox.ErrNotFound)
		}
	}
	if b != nil {
		b.WillBeKilled()
	}
	if err := l.engine.RemoveAndWait(ctx, h.ID); err != nil {
		if err = engine.Ignore(l.identity.Wrap(err, "remove", h), sandbox.ErrNotFound); err != nil {
			return err
		}
	}
	if b == nil {
		return nil
	}
	if b.IsDoubted() {
		if err := processes.RemainsOf(h.ID, b.UID, l.options.UIDs).End(ctx, l.options.Log); err != nil {
			return err
		}
	}
	b.HangUp()
	if b.Slot != nil {
		if err := b.Slot.Free(); err != nil {
			return fmt.Errorf("free the slot of container %s: %w", h.ID, err)
		}
	}
	l.forget(h.ID)
	return nil
}

// removeOutdated removes leftovers of an earlier version of init or of the host's files, if no sandbox uses them any
// more.
func (l *Launcher) removeOutdated(ctx context.Context, etc string) error {
	if err := l.stock().RemoveOutdated(ctx, l.shared.InitVolume); err != nil {
		return err
	}
	all, err := l.engine.List(ctx, l.names.Filter())
	if err != nil || len(all) > 0 || len(l.elsewhere()) > 0 {
		return err // a sandbox may still see an older /etc
	}
	return l.removeEtc(etc)
}

// removeEtc removes every /etc of ours except keep.
func (l *Launcher) removeEtc(keep string) error {
	old, err := filepath.Glob(filepath.Join(l.dir(), "*etc-*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if filepath.Base(dir) == keep {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an old /etc of sandboxes: %w", err)
		}
	}
	return nil
}

// Purge removes everything of this installation: sandboxes in any state, slots, volumes and images. After that the
// Launcher can only be closed.
func (l *Launcher) Purge(ctx context.Context) error {
	return errors.Join(l.purgeContainers(ctx), l.purgeSlots(), l.stock().Purge(ctx), l.removeEtc(""))
}

func (l *Launcher) purgeContainers(ctx context.Context) error {
	all, err := l.engine.List(ctx, l.names.Filter())
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	errs := []error{}
	for _, c := range all {
		err := l.engine.EnsureRemoved(ctx, c.ID)
		if err == nil && c.State == container.StateCreated {
			err = processes.RemainsOf(c.ID, names.UserIn(c.Labels), l.options.UIDs).End(ctx, l.options.Log)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove container %s: %w", c.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (l *Launcher) purgeSlots() error {
	l.mu.Lock()
	boxes := l.boxes
	l.boxes = map[string]*box.Box{}
	l.mu.Unlock()
	var errs []error
	for _, b := range boxes {
		b.HangUp()
		if b.Slot != nil {
			errs = append(errs, b.Slot.Free())
		}
	}
	return errors.Join(append(errs, l.slots.Sweep(nil))...)
}
