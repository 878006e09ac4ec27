package create

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/mount"

	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/recipe"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

// identify decides which user the sandbox runs as.
func (m *making) identify(context.Context) (err error) {
	who := m.UIDs.Of(m.Slot)
	if !m.ByHandle {
		who, err = m.Pins.Owner()
	}
	m.recipe.UID, m.recipe.GID = who.UID, who.GID
	m.recipe.Labels[names.LabelUser] = strconv.FormatUint(uint64(who.UID), 10)
	return err
}

// layMounts brings the pins into the sandbox.
func (m *making) layMounts(context.Context) error {
	if m.ByHandle {
		return m.layByHandle()
	}
	return m.layByPath()
}

// layByPath gives the engine the paths of the pins. The engine looks them up again, and init proves the result.
func (m *making) layByPath() error {
	sources, err := m.Pins.Paths()
	if err != nil {
		return err
	}
	for i, wanted := range m.Spec.Mounts {
		source := sources[i]
		if wanted.Programs { // no path map of the outbox covers programs
			if source, err = m.EnginePath(source); err != nil {
				return err
			}
		}
		bound := recipe.ReadOnlyBind(source, wanted.Target)
		bound.ReadOnly = !wanted.Workspace
		m.recipe.Mounts = append(m.recipe.Mounts, bound)
	}
	return m.carryPrograms()
}

// carryPrograms binds directories of ours that have mount points for programs, where the host's programs have none.
func (m *making) carryPrograms() error {
	carriers, err := m.Pins.Carriers(m.Slot)
	if err != nil {
		return err
	}
	for _, c := range carriers {
		source, err := m.EnginePath(c.Source)
		if err != nil {
			return err
		}
		m.recipe.Mounts = append(m.recipe.Mounts, recipe.ReadOnlyBind(source, c.Target))
		m.carriers = append(m.carriers, c.Target)
	}
	return nil
}

// layByHandle moves clones of the pins into the slot, and has the engine bind the slot's views.
func (m *making) layByHandle() error {
	if err := m.Pins.Lay(m.Slot, m.ids()); err != nil {
		return err
	}
	for _, view := range local.Views(m.Spec.Mounts) {
		bound, err := m.bindView(view, view.OnTheWay())
		if err != nil {
			return err
		}
		m.recipe.Mounts = append(m.recipe.Mounts, bound)
	}
	return nil
}

func (g *Ground) ids() local.IDs { return local.IDs{Range: g.UIDs, Maps: g.IDMaps, Own: true} }

// bindView returns the engine's bind of a view. If the prefix itself is ours, the bind is read-only, and the mounts
// below it keep their modes. Otherwise a mount lies at the prefix. It has its own mode and flags, and a read-only bind
// would reset them.
func (m *making) bindView(v local.View, ours bool) (mount.Mount, error) {
	here, err := v.Source(m.Slot)
	if err != nil {
		return mount.Mount{}, err
	}
	source, err := m.EnginePath(here)
	if err != nil {
		return mount.Mount{}, err
	}
	return mount.Mount{
		Type: mount.TypeBind, Source: source, Target: v.Prefix, ReadOnly: ours,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationRSlave, ReadOnlyNonRecursive: ours},
	}, nil
}

// addSockets adds the profile's sockets.
func (m *making) addSockets(context.Context) error {
	for _, socket := range m.Spec.Sockets {
		found, err := local.CheckSocket(socket, m.Sockets)
		if err != nil {
			return err
		}
		m.sockets = append(m.sockets, found.Mount)
		source, err := m.EnginePath(found.Source)
		if err != nil {
			return err
		}
		m.recipe.Mounts = append(m.recipe.Mounts, recipe.ReadOnlyBind(source, found.Mount.Path))
	}
	return nil
}

func (m *making) who() mounts.Identity {
	return mounts.Identity{UID: m.recipe.UID, GID: m.recipe.GID}
}

// writeFiles fills the slot's run directory and binds it.
func (m *making) writeFiles(context.Context) error {
	run := local.Run{
		Nonce: m.recipe.Nonce, Who: m.who(), Spec: m.Spec, Mounts: append(m.Pins.Expected(m.ByHandle), m.sockets...),
		Filter: m.Filter.Program, Shut: m.Shut,
	}
	if err := run.Write(m.Slot.RunDir()); err != nil {
		return err
	}
	return m.bindFiles(m.Slot.RunDir())
}

// bindFiles binds the run directory and init. For an image it also lays our files of /etc over the image's.
func (m *making) bindFiles(dir string) error {
	run, err := m.EnginePath(dir)
	if err != nil {
		return err
	}
	m.recipe.Mounts = append(m.recipe.Mounts, recipe.ReadOnlyBind(run, runfile.Dir), image.InitMount(m.Shared.InitVolume))
	if m.Spec.RootFS.Host {
		return nil // our /etc has them, or links to them
	}
	for _, name := range slices.Sorted(maps.Keys(hostroot.UserEtc(0, 0))) {
		m.recipe.Mounts = append(m.recipe.Mounts, recipe.ReadOnlyBind(filepath.Join(run, hostroot.UserDir, name), "/etc/"+name))
	}
	for _, name := range hostroot.ImageEtc() {
		m.recipe.Mounts = append(m.recipe.Mounts, recipe.ReadOnlyBind(filepath.Join(m.Shared.Etc, name), "/etc/"+name))
	}
	return nil
}

// etcFiles lists all our files that lie over an image's.
func etcFiles() []string {
	return append(slices.Sorted(maps.Keys(hostroot.UserEtc(0, 0))), hostroot.ImageEtc()...)
}
