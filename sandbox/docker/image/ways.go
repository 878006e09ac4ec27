package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/local"
)

// On the way to a mount, the engine follows an image's links. If an image had /run as a link to /workspace, our own
// files would lie in the child's workspace, and the engine would make directories there, as root. So the way to each of
// our mounts must be free of links. An image never changes, so each name is looked at only once.

// entry is a name in an image.
type entry int

const (
	unseen  entry = iota
	missing       // it, and everything below it
	plain
	link
)

// ways holds the known names in one image.
type ways map[string]entry

// maxWays bounds the names that are remembered of an image, because requests may name new ones without end.
const maxWays = 1000

// unknown returns the names on the way to the targets that were not looked at yet, outermost first.
func (w ways) unknown(targets []string) []string {
	var all []string
	for _, target := range targets {
		for _, name := range onTheWay(target) {
			if w[name] == missing {
				break
			}
			if w[name] == unseen && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// onTheWay returns a clean absolute path and all paths that hold it, without the root, outermost first.
func onTheWay(target string) []string {
	var all []string
	for at := target; at != "/" && at != "."; at = path.Dir(at) {
		all = append(all, at)
	}
	slices.Reverse(all)
	return all
}

// CheckWays refuses an image with a link on the way to a target. ref is the operator's name for the image.
func (m *Images) CheckWays(ctx context.Context, ref string, image Image, targets []string) error {
	seen, err := m.lookAt(ctx, image, targets)
	if engine.IsGone(err) {
		m.Forget(ref)
	}
	if err != nil {
		return fmt.Errorf("look at the ways in image %s: %w", ref, err)
	}
	for _, target := range targets {
		for _, name := range onTheWay(target) {
			if seen[name] == link {
				return fmt.Errorf("image %s has a link at %s, on the way to the sandbox's own %s; "+
					"use an image with a directory there", ref, name, target)
			}
		}
	}
	return nil
}

// lookAt looks at the ways to targets in an image, through a container that never runs.
func (m *Images) lookAt(ctx context.Context, image Image, targets []string) (ways, error) {
	if seen := m.seen(image); len(seen.unknown(targets)) == 0 {
		return seen, nil
	}
	select {
	case m.looking <- struct{}{}:
		defer func() { <-m.looking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	seen := m.seen(image) // another run may have looked meanwhile
	if len(seen) > maxWays {
		clear(seen)
	}
	names := seen.unknown(targets)
	if len(names) == 0 {
		return seen, nil
	}
	ctx, cancel := local.StepContext(ctx)
	defer cancel()
	made, err := m.makeLooker(ctx, image)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if seen[name], err = m.lookAtName(ctx, made, seen, name); err != nil {
			delete(seen, name)
			break
		}
	}
	m.mu.Lock()
	m.ways[image.ID] = maps.Clone(seen)
	m.mu.Unlock()
	cleanup, stop := local.CleanupContext(ctx)
	defer stop()
	return seen, errors.Join(err, m.stock.Engine.Remove(cleanup, made))
}

// seen returns what is known of an image.
func (m *Images) seen(image Image) ways {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seen := m.ways[image.ID]; seen != nil {
		return maps.Clone(seen)
	}
	return ways{}
}

// makeLooker makes this container. It puts the image's VOLUMEs in memory, so that the engine does not copy them to the
// disk.
func (m *Images) makeLooker(ctx context.Context, image Image) (id string, err error) {
	name := m.stock.Names.Container(names.RoleLook)
	if err := m.stock.RemoveHelper(ctx, names.RoleLook); err != nil {
		return "", err
	}
	volumes := map[string]string{}
	for _, at := range image.Volumes {
		volumes[path.Clean(at)] = "size=4096"
	}
	made, err := m.stock.Engine.Create(ctx, name, &container.Config{
		Image: image.ID, NetworkDisabled: true, Entrypoint: []string{runfile.Init}, Labels: m.stock.Names.Labels(names.RoleLook),
	}, &container.HostConfig{NetworkMode: "none", Tmpfs: volumes})
	return made.ID, err
}

// lookAtName looks at a name. The names above it are already known.
func (m *Images) lookAtName(ctx context.Context, id string, seen ways, name string) (entry, error) {
	if above := seen[path.Dir(name)]; above == missing || above == link {
		return missing, nil // none of our mounts goes there
	}
	stat, err := m.stock.Engine.Stat(ctx, id, name)
	switch {
	case engine.IsGone(err):
		return missing, nil
	case err != nil:
		return unseen, err
	case stat.Mode&fs.ModeSymlink != 0 || strings.TrimSpace(stat.LinkTarget) != "":
		return link, nil
	}
	return plain, nil
}
