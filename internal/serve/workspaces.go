package serve

import (
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher"
)

// holdWorkspace holds what a run writes into, found as the launchers find it.
func (h *host) holdWorkspace(src sandbox.Source) (watcher.Workspace, error) {
	pin, err := h.bases.Pin(src)
	if err != nil {
		return nil, err
	}
	defer pin.Close()
	dir, err := tree.Hold(pin.File())
	if err != nil {
		return nil, err
	}
	return dir, nil
}
