package docker

import (
	"path/filepath"
	"slices"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/image"
	"torno/sandbox/local"
	"torno/sandbox/local/attest"
)

// wanted is what a finished sandbox should be, for the look from outside.
type wanted struct {
	identity attest.Identity
	mounts   []attest.Want // by their targets
	private  []string      // writable file systems of the sandbox's own
	limits   sandbox.Limits
}

// wanted writes down what was asked of the engine, and what is held of it.
func (m *making) wanted() (*wanted, error) {
	w := &wanted{
		identity: attest.Identity{UID: m.recipe.UID, GID: m.recipe.GID, Filtered: true},
		mounts:   slices.Clone(m.shared.hostWants),
		private:  append([]string{"/tmp", sandbox.Home, "/dev/shm"}, m.recipe.Covers...),
		limits:   m.recipe.Limits,
	}
	w.limits.CPUs = min(w.limits.CPUs, m.recipe.CPUs)
	if !m.Spec.RootFS.Host {
		w.mounts = nil
	}
	w.mounts = append(w.mounts, attest.Want{Target: "/"}, attest.Want{Target: image.InitDir})
	run, err := attest.WantOf(m.Slot.RunDir(), runfile.Dir)
	if err != nil {
		return nil, err
	}
	w.mounts = append(w.mounts, run)
	w.mounts = append(w.mounts, local.Wants(slices.Concat(m.Pins.Expected(m.byHandle), m.sockets))...)
	if m.byHandle {
		for _, view := range local.Views(m.Spec.Mounts) {
			if view.OnTheWay() {
				w.mounts = append(w.mounts, attest.Want{Target: view.Prefix})
			}
		}
	}
	if !m.Spec.RootFS.Host { // where it is the host's, our /etc is one mount
		for _, name := range etcFiles() {
			w.mounts = append(w.mounts, attest.Want{Target: filepath.Join("/etc", name)})
		}
	}
	return w, nil
}
