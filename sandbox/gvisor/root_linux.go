package gvisor

import (
	"context"
	"errors"
	"path/filepath"
)

// layRoot makes the sandbox's own root, in which every mount has a place.
func (m *making) layRoot(context.Context) error {
	root := m.spec.RootFS
	if root.Host == (root.Image != "") {
		return errors.New("a sandbox has either the host's programs or an image")
	}
	m.recipe.root = filepath.Join(m.slot.Path(), "root")
	if err := m.shared.layout.Make(m.recipe.root); err != nil {
		return err
	}
	for _, b := range m.shared.layout.Binds(m.shared.etc, m.shared.empty) {
		m.recipe.mounts = append(m.recipe.mounts, bind{source: b.Source, target: b.Target})
	}
	return nil
}
