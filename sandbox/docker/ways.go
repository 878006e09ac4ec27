package docker

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
	"torno/sandbox"
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

// checkWays refuses an image with a link on the way to a target.
func (m *making) checkWays(ctx context.Context) error {
	if m.Spec.RootFS.Host {
		return nil // the image is our own
	}
	targets := m.targets()
	seen, err := m.images.lookAt(ctx, m.names, m.image, targets)
	if isGone(err) {
		m.images.forget(m.Spec.RootFS.Image)
	}
	if err != nil {
		return fmt.Errorf("look at the ways in image %s: %w", m.Spec.RootFS.Image, err)
	}
	for _, target := range targets {
		for _, name := range onTheWay(target) {
			if seen[name] == link {
				return fmt.Errorf("image %s has a link at %s, on the way to the sandbox's own %s, which would lie where the link leads; "+
					"have a directory there", m.Spec.RootFS.Image, name, target)
			}
		}
	}
	return nil
}

// targets are where something of ours is mounted.
func (m *making) targets() []string {
	all := []string{"/proc", "/sys", "/dev/shm", "/tmp", sandbox.Home, runfile.Dir, initDir}
	for _, mounted := range m.recipe.mounts {
		all = append(all, path.Clean(mounted.Target))
	}
	return append(all, m.recipe.covers...)
}

// lookAt looks at the ways to targets in an image, by way of a container that never runs.
func (m *images) lookAt(ctx context.Context, n naming, image knownImage, targets []string) (ways, error) {
	m.looking.Lock()
	defer m.looking.Unlock()
	seen := m.ways[image.id]
	if seen == nil {
		seen = ways{}
		m.ways[image.id] = seen
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
	made, err := m.makeLooker(ctx, n, image)
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
	return maps.Clone(seen), errors.Join(err, m.engine.remove(cleanup, made))
}

// makeLooker makes the container. The image's VOLUMEs are in memory, so that the engine does not copy them to the disk.
func (m *images) makeLooker(ctx context.Context, n naming, image knownImage) (id string, err error) {
	name := n.container(roleLook)
	if err := m.engine.removeHelper(ctx, n, roleLook); err != nil {
		return "", err
	}
	volumes := map[string]string{}
	for _, at := range image.volumes {
		volumes[path.Clean(at)] = "size=4096"
	}
	made, err := m.engine.create(ctx, name, &container.Config{
		Image: image.id, NetworkDisabled: true, Entrypoint: []string{runfile.Init}, Labels: n.labels(roleLook),
	}, &container.HostConfig{NetworkMode: "none", Tmpfs: volumes})
	return made.ID, err
}

// lookAtName looks at a name whose way is known.
func (m *images) lookAtName(ctx context.Context, id string, seen ways, name string) (entry, error) {
	if above := seen[path.Dir(name)]; above == missing || above == link {
		return missing, nil // no mount of ours goes there
	}
	stat, err := m.engine.stat(ctx, id, name)
	switch {
	case isGone(err):
		return missing, nil
	case err != nil:
		return unseen, err
	case stat.Mode&fs.ModeSymlink != 0 || strings.TrimSpace(stat.LinkTarget) != "":
		return link, nil
	}
	return plain, nil
}
