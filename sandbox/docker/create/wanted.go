package create

import (
	"path/filepath"
	"slices"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/image"
	"torno/sandbox/docker/processes"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
)

// replaced reports whether a view takes the place of this host directory.
func (m *making) replaced(host attest.Want) bool {
	return slices.Contains(local.Prefixes(m.Spec.Mounts), host.Target)
}

// wanted returns the expected state of the sandbox, from the orders to the engine and from the held pins.
func (m *making) wanted() (*processes.Wanted, error) {
	w := &processes.Wanted{
		Identity: attest.Identity{UID: m.recipe.UID, GID: m.recipe.GID, Filtered: true},
		Mounts:   slices.DeleteFunc(slices.Clone(m.Shared.HostWants), m.replaced),
		Private:  append([]string{"/tmp", sandbox.Home, "/dev/shm"}, m.recipe.Covers...),
		Limits:   m.recipe.Limits,
	}
	w.Limits.CPUs = min(w.Limits.CPUs, m.recipe.CPUs)
	if !m.Spec.RootFS.Host {
		w.Mounts = nil
	}
	w.Mounts = append(w.Mounts, attest.Want{Target: "/"}, attest.Want{Target: image.InitDir})
	run, err := attest.WantOf(m.Slot.RunDir(), runfile.Dir)
	if err != nil {
		return nil, err
	}
	w.Mounts = append(w.Mounts, run)
	w.Mounts = append(w.Mounts, local.Wants(slices.Concat(m.Pins.Expected(m.ByHandle), m.sockets))...)
	for _, target := range m.carriers {
		w.Mounts = append(w.Mounts, attest.Want{Target: target})
	}
	if m.ByHandle {
		for _, view := range local.Views(m.Spec.Mounts) {
			if view.OnTheWay() {
				w.Mounts = append(w.Mounts, attest.Want{Target: view.Prefix})
			}
		}
	}
	if !m.Spec.RootFS.Host { // with the host's root file system our /etc is one mount
		for _, name := range etcFiles() {
			w.Mounts = append(w.Mounts, attest.Want{Target: filepath.Join("/etc", name)})
		}
	}
	return w, nil
}
