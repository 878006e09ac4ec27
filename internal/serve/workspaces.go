package serve

import (
	"torno/internal/mounts"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/sandbox/local"
	"torno/watcher/workspace"
)

// openWorkspace opens and holds the workspace of a run. It finds the workspace as the launchers find it.
func (h *host) openWorkspace(spec sandbox.Spec) (workspace.Directory, error) {
	pins, err := local.Pin(h.bases, []sandbox.Mount{spec.WorkspaceMount()}, spec.Owners)
	if err != nil {
		return nil, err
	}
	dir, err := tree.Reopen(pins.Held()[0].File())
	if err != nil {
		pins.Close()
		return nil, err
	}
	return &heldWorkspace{dir, pins, h.bases}, nil
}

// heldWorkspace is a workspace that can tell where it lies now.
type heldWorkspace struct {
	*tree.Dir
	pins  local.Pins
	bases *mounts.Bases
}

// Above returns the workspace and each directory above it.
func (w *heldWorkspace) Above() ([]sandbox.Directory, error) { return w.bases.Above(w.pins.Held()[0]) }

// Close releases the workspace.
func (w *heldWorkspace) Close() error {
	w.pins.Close()
	return w.Dir.Close()
}
