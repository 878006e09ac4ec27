package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
)

// Remove kills what runs, removes the container and empties its slot.
func (l *Launcher) Remove(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.identity()); err != nil {
		return err
	}
	b := l.known(h.ID)
	if b == nil {
		if _, err := l.look(ctx, h); err != nil {
			return ignore(err, sandbox.ErrNotFound)
		}
	}
	if b != nil {
		b.killed.Store(true)
	}
	if err := l.engine.endContainer(ctx, h.ID); err != nil {
		if err = ignore(l.wrap(err, "remove", h), sandbox.ErrNotFound); err != nil {
			return err
		}
	}
	if b == nil {
		return nil
	}
	if b.doubted.Load() {
		if err := l.endForgotten(ctx, l.remainsOf(h.ID, b.uid)); err != nil {
			return err
		}
	}
	b.hangUp()
	if b.slot != nil {
		if err := b.slot.Release(); err != nil {
			return fmt.Errorf("remove what container %s was given: %w", h.ID, err)
		}
	}
	l.forget(h.ID)
	return nil
}

// removeContainer returns when the container is gone, also when it was, or somebody else is at it.
func (e *engine) removeContainer(ctx context.Context, id string) error {
	if err := e.endContainer(ctx, id); !isGone(err) {
		return err
	}
	return nil
}

// endContainer is removeContainer for a caller that has to know whether there was none.
func (e *engine) endContainer(ctx context.Context, id string) error {
	err := e.remove(ctx, id)
	if isConflict(err) {
		_, err = e.wait(ctx, id, container.WaitConditionRemoved)
	}
	return err
}

// removeHelper removes the container of a role that an earlier start left. A name is anybody's, so the labels say whether it is ours,
// and it is removed by its id.
func (e *engine) removeHelper(ctx context.Context, n naming, role sandbox.SandboxID) error {
	name := n.container(role)
	found, err := e.inspect(ctx, name)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.Config == nil || !n.isHelper(found.Config.Labels, role) {
		return fmt.Errorf("a container named %s is in the way and is not this installation's; remove it", name)
	}
	return e.removeContainer(ctx, found.ID)
}

// removeOutdated removes what an earlier version of init or of the host's files left, where no sandbox uses it any more.
func (l *Launcher) removeOutdated(ctx context.Context, etc string) error {
	volumes, err := l.engine.listVolumes(ctx, l.names.filter())
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes {
		if v.Name == l.shared.initVolume {
			continue
		}
		if err := l.engine.removeVolume(ctx, v.Name); err != nil && !isConflict(err) && !isGone(err) {
			return fmt.Errorf("remove volume %s: %w", v.Name, err)
		}
	}
	all, err := l.engine.list(ctx, l.names.filter())
	if err != nil || len(all) > 0 || len(l.elsewhere()) > 0 {
		return err // a sandbox may still see an older /etc
	}
	return l.removeEtc(etc)
}

// removeEtc removes every /etc of ours but one.
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

// Purge removes everything of this installation: sandboxes whatever they do, slots, volumes and images. The Launcher is
// of no use afterwards but for Close.
func (l *Launcher) Purge(ctx context.Context) error {
	return errors.Join(l.purgeContainers(ctx), l.purgeSlots(), l.purgeVolumes(ctx), l.purgeImages(ctx), l.removeEtc(""))
}

func (l *Launcher) purgeContainers(ctx context.Context) error {
	all, err := l.engine.list(ctx, l.names.filter())
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	errs := []error{}
	for _, c := range all {
		err := l.engine.removeContainer(ctx, c.ID)
		if err == nil && c.State == container.StateCreated {
			err = l.endForgotten(ctx, l.remainsOf(c.ID, userIn(c.Labels)))
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
	l.boxes = map[string]*box{}
	l.mu.Unlock()
	var errs []error
	for _, b := range boxes {
		b.hangUp()
		if b.slot != nil {
			errs = append(errs, b.slot.Release())
		}
	}
	return errors.Join(append(errs, l.slots.Sweep(nil))...)
}

// purgeVolumes goes by the name: a volume that the engine made anew, behind somebody who removed ours, has no label.
func (l *Launcher) purgeVolumes(ctx context.Context) error {
	names, err := l.engine.volumesNamed(ctx, l.names.prefix()+"init-")
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	var errs []error
	for _, name := range names {
		if err := l.engine.removeVolume(ctx, name); err != nil && !isGone(err) {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (l *Launcher) purgeImages(ctx context.Context) error {
	found, err := l.engine.listImages(ctx, l.names.filter())
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	var errs []error
	for _, image := range found {
		if err := l.engine.removeImage(ctx, image.ID); err != nil && !isGone(err) {
			errs = append(errs, fmt.Errorf("remove image %s: %w", image.ID, err))
		}
	}
	return errors.Join(errs...)
}
