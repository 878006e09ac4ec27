package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/container"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/docker/box"
	"torno/sandbox/docker/names"
)

// settle finds out how sandboxes are made here, by trying. It tries mounts by handle first.
func (l *Launcher) settle(ctx context.Context) error {
	var byHandle error
	if l.options.Mounts != MountByPath {
		if byHandle = l.settleOn(ctx, true); byHandle == nil {
			l.guarantees = l.guarantee("")
			return nil
		}
		if l.options.Mounts == MountByHandle {
			return fmt.Errorf("mounts by handle, which the configuration demands, do not work here: %w; run the watcher as root in "+
				"the engine's own mount namespace (a systemd unit without ProtectSystem, PrivateTmp and the like), or set mounts: auto", byHandle)
		}
		l.options.Log.Warn("workspaces are mounted by path", "because", byHandle)
	}
	if err := l.settleOn(ctx, false); err != nil {
		return errors.Join(fmt.Errorf("no sandbox can be made here with mounts by path: %w; does the engine see %s? (paths say how it is called there)",
			err, l.options.StateDir), wrapIf("with mounts by handle", byHandle))
	}
	why := "the configuration says mounts: by-path"
	if byHandle != nil {
		why = byHandle.Error()
	}
	l.guarantees = l.guarantee(why)
	return nil
}

func wrapIf(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// settleOn tries one way to mount.
func (l *Launcher) settleOn(ctx context.Context, byHandle bool) (err error) {
	l.byHandle = byHandle
	if byHandle {
		if err := l.tryIDMaps(); err != nil {
			return err
		}
	}
	if l.slots, err = mounts.OpenSlots(l.slotsDir(), l.options.UIDs.Count, byHandle); err != nil {
		return err
	}
	if err := l.adopt(ctx); err != nil {
		return errors.Join(err, l.closeSlots())
	}
	if err := l.try(ctx); err != nil {
		return errors.Join(err, l.closeSlots())
	}
	return nil
}

func (l *Launcher) closeSlots() error {
	err := l.slots.Close()
	l.slots = nil
	return err
}

// tryIDMaps tries for each of the operator's file systems whether it can be mounted with exchanged ids. A root that is
// gone cannot be tried; that is no reason to mount the others by path.
func (l *Launcher) tryIDMaps() error {
	for _, base := range l.options.Bases.Paths() {
		switch err := l.options.Bases.TryIDMap(base, l.idmaps); {
		case errors.Is(err, mounts.ErrRootGone):
			l.options.Log.Warn("a root is gone since the watcher opened it, and was not tried; the watcher refuses requests for paths in it until it is back",
				"root", base, "error", err)
		case err != nil:
			return fmt.Errorf("%s cannot be mounted with the ids of a sandbox: %w", base, err)
		}
	}
	return nil
}

// adoptionOrder ranks a container for the adoption of slots: first containers of runs, then started ones, then the
// others.
func (l *Launcher) adoptionOrder(c container.Summary) int {
	switch {
	case l.isRuns(c):
		return 0
	case c.State != container.StateCreated:
		return 1
	}
	return 2
}

// isRuns reports whether a container belongs to a run that was released and has not ended.
func (l *Launcher) isRuns(c container.Summary) bool {
	return slices.ContainsFunc(l.options.Known, func(h sandbox.Handle) bool { return h.ID == c.ID })
}

// adopt takes over the slots of the existing sandboxes, and empties all others. A container can appear late, after its
// slot was given to another sandbox. The same can happen before a launcher notices that its engine was exchanged. So
// runs that were released and have not ended get their slots first. Any other container that then finds its slot taken
// is removed.
func (l *Launcher) adopt(ctx context.Context) error {
	found, err := l.engine.List(ctx, l.names.Filter())
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	slices.SortStableFunc(found, func(a, b container.Summary) int { return l.adoptionOrder(a) - l.adoptionOrder(b) })
	for _, c := range found {
		number, err := strconv.Atoi(c.Labels[names.LabelSlot])
		id, ok := l.names.SandboxOf(c.Labels)
		if err != nil || !ok {
			continue
		}
		slot, err := l.slots.Adopt(number)
		if errors.Is(err, mounts.ErrSlotInUse) && !l.isRuns(c) {
			if err := l.engine.EnsureRemoved(ctx, c.ID); err != nil {
				return fmt.Errorf("remove container %s, whose slot belongs to another sandbox: %w", c.ID, err)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("adopt the slot of container %s: %w", c.ID, err)
		}
		b := box.Found(box.Given{ID: id, Slot: slot, UID: names.UserIn(c.Labels)})
		b.Adopt(c.ID, c.State == container.StateCreated)
		l.remember(c.ID, b)
	}
	if err := l.keepElsewhere(); err != nil {
		return err
	}
	if err := l.slots.Sweep(nil); err != nil {
		return fmt.Errorf("empty the slots that an earlier watcher left: %w", err)
	}
	return nil
}
