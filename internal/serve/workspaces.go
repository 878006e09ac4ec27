package serve

import (
	"torno/internal/stage"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher"
)

// holdWorkspace holds what a run writes into, found as the launchers find it.
func (h *host) holdWorkspace(spec sandbox.Spec) (watcher.Workspace, error) {
	pins, err := stage.Pin(h.bases, []sandbox.Mount{spec.WorkspaceMount()}, spec.Owners)
	if err != nil {
		return nil, err
	}
	defer pins.Close()
	dir, err := tree.Hold(pins.Held()[0].File())
	if err != nil {
		return nil, err
	}
	return dir, nil
}
