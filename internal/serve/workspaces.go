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
	pin := pins.Held()[0]
	above, err := h.bases.Above(pin)
	if err != nil {
		return nil, err
	}
	dir, err := tree.Hold(pin.File())
	if err != nil {
		return nil, err
	}
	return &heldWorkspace{Dir: dir, above: above}, nil
}

// heldWorkspace is a workspace with what lay above it when it was opened.
type heldWorkspace struct {
	*tree.Dir
	above []sandbox.Directory
}

// Above is the workspace and each directory above it.
func (w *heldWorkspace) Above() ([]sandbox.Directory, error) { return w.above, nil }
