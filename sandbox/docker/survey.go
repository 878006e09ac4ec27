package docker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"torno/internal/doctor"
	"torno/sandbox/local"
)

// About asks an engine about itself.
func About(ctx context.Context, host, runtime string) (doctor.Launcher, error) {
	e, err := connect(ctx, host, func(string, time.Duration) {})
	if err != nil {
		return doctor.Launcher{}, err
	}
	defer func() { _ = e.close() }() // nothing was written
	info, err := e.info(ctx)
	if err != nil {
		return doctor.Launcher{}, fmt.Errorf("ask the engine about itself: %w", err)
	}
	version, err := e.version(ctx)
	if err != nil {
		return doctor.Launcher{}, fmt.Errorf("ask the engine for its version: %w", err)
	}
	about, err := engineOf(info, version, runtime)
	about.Socket = strings.TrimPrefix(e.api.DaemonHost(), "unix://")
	return about, err
}

// Installations are all that have something on an engine, by their ids. What became of each is for others to find out.
func Installations(ctx context.Context, host string) ([]doctor.Leftover, error) {
	e, err := connect(ctx, host, func(string, time.Duration) {})
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.close() }() // nothing was written
	return e.installations(ctx)
}

// census counts by installation.
type census map[string]*doctor.Leftover

// of is the entry of the installation that labels name, or nil where they are not ours.
func (c census) of(labels map[string]string) *doctor.Leftover {
	id := labels[labelInstallation]
	if !local.Installation(id).Valid() {
		return nil
	}
	if c[id] == nil {
		c[id] = &doctor.Leftover{Installation: id}
	}
	c[id].State = cmp.Or(c[id].State, labels[labelState])
	return c[id]
}

// installations asks for containers, volumes and images.
func (e *engine) installations(ctx context.Context) ([]doctor.Leftover, error) {
	found := census{}
	for _, count := range []func(context.Context, census) error{e.countContainers, e.countVolumes, e.countImages} {
		if err := count(ctx, found); err != nil {
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

func (e *engine) countContainers(ctx context.Context, found census) error {
	containers, err := e.list(ctx, labelInstallation)
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
		if slot := c.Labels[labelSlot]; slot != "" {
			l.Slots = append(l.Slots, slot)
		}
	}
	return nil
}

func (e *engine) countVolumes(ctx context.Context, found census) error {
	volumes, err := e.listVolumes(ctx, labelInstallation)
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

func (e *engine) countImages(ctx context.Context, found census) error {
	images, err := e.listImages(ctx, labelInstallation)
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
