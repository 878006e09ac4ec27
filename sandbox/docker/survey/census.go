package survey

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"torno/internal/doctor"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// census counts by installation.
type census map[string]*doctor.Leftover

// of returns the entry for the installation in the labels; nil if they are not ours.
func (c census) of(labels map[string]string) *doctor.Leftover {
	id := labels[names.LabelInstallation]
	if !local.Installation(id).Valid() {
		return nil
	}
	if c[id] == nil {
		c[id] = &doctor.Leftover{Installation: id}
	}
	c[id].State = cmp.Or(c[id].State, labels[names.LabelState])
	return c[id]
}

// count counts containers, volumes and images.
func count(ctx context.Context, e *engine.Client) ([]doctor.Leftover, error) {
	found := census{}
	for _, kind := range []func(context.Context, *engine.Client, census) error{countContainers, countVolumes, countImages} {
		if err := kind(ctx, e, found); err != nil {
			return nil, err
		}
	}
	var all []doctor.Leftover
	for _, id := range slices.Sorted(maps.Keys(found)) {
		slices.Sort(found[id].Slots)
		all = append(all, *found[id])
	}
	return all, nil
}

func countContainers(ctx context.Context, e *engine.Client, found census) error {
	containers, err := e.List(ctx, names.LabelInstallation)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers {
		l := found.of(c.Labels)
		if l == nil {
			continue
		}
		l.Containers++
		if c.State == "running" {
			l.Running++
		}
		if slot := c.Labels[names.LabelSlot]; slot != "" {
			l.Slots = append(l.Slots, slot)
		}
	}
	return nil
}

func countVolumes(ctx context.Context, e *engine.Client, found census) error {
	volumes, err := e.ListVolumes(ctx, names.LabelInstallation)
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes {
		if l := found.of(v.Labels); l != nil {
			l.Volumes++
		}
	}
	return nil
}

func countImages(ctx context.Context, e *engine.Client, found census) error {
	images, err := e.ListImages(ctx, names.LabelInstallation)
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	for _, i := range images {
		if l := found.of(i.Labels); l != nil {
			l.Images++
		}
	}
	return nil
}
