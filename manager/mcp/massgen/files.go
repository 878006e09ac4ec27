package massgen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"torno/internal/beneath"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/modes"
)

// maxSettings bounds a file of settings.
const maxSettings = 4 << 20

// Settings reads the argv of MassGen's own server. work is the directory where this server was started.
func Settings(args []string, work string) (modes.Settings, []string, error) {
	settings, warnings, err := modes.Parse(args, work, func(path string) ([]byte, error) {
		if !modes.AgentsWrite(args, work, path) {
			return readPlain(path)
		}
		return readSettings(path, modes.Value(args, modes.TempOption))
	})
	_, inside := os.Stat("/.dockerenv")
	settings.InContainer, settings.Project = inside == nil, work
	return settings, warnings, err
}

// readSettings reads a file of settings that MassGen has put where agents write. If the file is missing, it takes the
// newest file of that name that MassGen has left in a peer's workspace.
func readSettings(path, temp string) ([]byte, error) {
	data, err := readPlain(path)
	if !errors.Is(err, fs.ErrNotExist) || temp == "" {
		return data, err
	}
	found, globErr := filepath.Glob(filepath.Join(temp, "*", ".massgen", "subagent_mcp", filepath.Base(path)))
	newest, at := "", time.Time{}
	for _, other := range found {
		if info, err := os.Lstat(other); err == nil && (newest == "" || info.ModTime().After(at)) {
			newest, at = other, info.ModTime()
		}
	}
	if newest == "" {
		return nil, errors.Join(err, globErr)
	}
	return readPlain(newest)
}

func readPlain(path string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, more, err := beneath.ReadFile(root, filepath.Base(path), maxSettings)
	if err == nil && more {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxSettings)
	}
	return data, err
}

// withTree calls do with the workspace of the parent and the tree of MassGen's files in it.
func (h *home) withTree(do func(workspace *os.Root, tree *layout.Tree) error) error {
	workspace, err := os.OpenRoot(h.settings.Workspace)
	if err != nil {
		return err
	}
	defer workspace.Close()
	tree, err := layout.Open(workspace)
	if err != nil {
		return err
	}
	defer tree.Close()
	return do(workspace, tree)
}

// withExisting calls do with the tree of MassGen's files, if there is one.
func (h *home) withExisting(do func(*layout.Tree) error) error {
	workspace, err := os.OpenRoot(h.settings.Workspace)
	if err != nil {
		return err
	}
	defer workspace.Close()
	tree, err := layout.OpenExisting(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer tree.Close()
	return do(tree)
}

// registry returns the children that the parent has had. It reads files that others may have written.
func (h *home) registry() (registry layout.Registry, err error) {
	err = h.withExisting(func(tree *layout.Tree) (err error) { registry, err = tree.Registry(); return err })
	return registry, err
}

func (h *home) update(change func(*layout.Registry)) error {
	return h.withTree(func(_ *os.Root, tree *layout.Tree) error {
		return tree.Update(func(r *layout.Registry) {
			r.ParentAgentID, r.OrchestratorID = h.settings.AgentID, h.settings.OrchestratorID
			change(r)
		})
	})
}

// stamp formats a time as MassGen does.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000-07:00")
}
