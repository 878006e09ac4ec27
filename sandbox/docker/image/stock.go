package image

import (
	"context"
	"errors"
	"fmt"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
)

// Stock is the part of the engine's images and volumes that serves all sandboxes of an installation: the empty image,
// and the volume with sandbox-init.
type Stock struct {
	Engine *engine.Client
	Names  names.Naming
}

// RemoveHelper removes the container of a role, if an earlier start left it. Anybody can use its name, so the labels
// must prove that it is ours. Then it is removed by its id.
func (s Stock) RemoveHelper(ctx context.Context, role sandbox.SandboxID) error {
	name := s.Names.Container(role)
	found, err := s.Engine.Inspect(ctx, name)
	if engine.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.Config == nil || !s.Names.IsHelper(found.Config.Labels, role) {
		return fmt.Errorf("a container named %s is in the way and does not belong to this installation; remove it", name)
	}
	return s.Engine.EnsureRemoved(ctx, found.ID)
}

// RemoveOutdated removes the volumes with an earlier version of init, if no sandbox uses them any more.
func (s Stock) RemoveOutdated(ctx context.Context, keep string) error {
	volumes, err := s.Engine.ListVolumes(ctx, s.Names.Filter())
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes {
		if v.Name == keep {
			continue
		}
		if err := s.Engine.RemoveVolume(ctx, v.Name); err != nil && !engine.IsConflict(err) && !engine.IsGone(err) {
			return fmt.Errorf("remove volume %s: %w", v.Name, err)
		}
	}
	return nil
}

// Purge removes everything of the stock.
func (s Stock) Purge(ctx context.Context) error {
	return errors.Join(s.purgeVolumes(ctx), s.purgeImages(ctx))
}

// purgeVolumes finds volumes by name: if somebody removes our volume, the engine may make it again, without a label.
func (s Stock) purgeVolumes(ctx context.Context) error {
	names, err := s.Engine.VolumesNamed(ctx, s.Names.Prefix()+"init-")
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	var errs []error
	for _, name := range names {
		if err := s.Engine.RemoveVolume(ctx, name); err != nil && !engine.IsGone(err) {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (s Stock) purgeImages(ctx context.Context) error {
	found, err := s.Engine.ListImages(ctx, s.Names.Filter())
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	var errs []error
	for _, image := range found {
		if err := s.Engine.RemoveImage(ctx, image.ID); err != nil && !engine.IsGone(err) {
			errs = append(errs, fmt.Errorf("remove image %s: %w", image.ID, err))
		}
	}
	return errors.Join(errs...)
}
