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

// The engine follows the links of an image on the way to a mount. In an image whose /run is a link to /workspace, our own files
// would lie in the child's workspace, and the engine would make directories there, as root. So the way to every mount of ours
// has to be free of links. An image stays as it is, so each name is looked at once.

// A name in an image.
type entry int

const (
	unseen  entry = iota
	missing       // and all below it
	plain
	link
)

// ways is what is known of the names in one image.
type ways map[string]entry

// maxWays bounds how many names are remembered of an image: requests may name ever new ones.
const maxWays = 1000

// unknown returns the names on the way to the targets that have not been looked at, outermost first.
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

// onTheWay are a clean absolute path and all that hold it, without the root, outermost first.
func onTheWay(target string) []string {
	var all []string
	for at := target; at != "/" && at != "."; at = path.Dir(at) {
		all = append(all, at)
	}
	slices.Reverse(all)
	return all
}

// CheckWays refuses an image, by the name that the operator gives it, with a link on the way to a target.
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
				return fmt.Errorf("image %s has a link at %s, on the way to the sandbox's own %s, which would lie where the link leads; "+
					"have a directory there", ref, name, target)
			}
		}
	}
	return nil
}

// lookAt looks at the ways to targets in an image, by way of a container that never runs.
func (m *Images) lookAt(ctx context.Context, image Image, targets []string) (ways, error) {
	m.looking.Lock()
	defer m.looking.Unlock()
	seen := m.ways[image.ID]
	if seen == nil {
		seen = ways{}
		m.ways[image.ID] = seen
	}
	if len(seen) > maxWays {
		clear(seen)
	}
	names := seen.unknown(targets)
	if len(names) == 0 {
		return maps.Clone(seen), nil
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
	cleanup, stop := local.CleanupContext(ctx)
	defer stop()
	return maps.Clone(seen), errors.Join(err, m.stock.Engine.Remove(cleanup, made))
}

// makeLooker makes the container. The image's VOLUMEs are in memory, so that the engine does not copy them to the disk.
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

// lookAtName looks at a name whose way is known.
func (m *Images) lookAtName(ctx context.Context, id string, seen ways, name string) (entry, error) {
	if above := seen[path.Dir(name)]; above == missing || above == link {
		return missing, nil // no mount of ours goes there
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
