package gvisor

import (
	"context"
	"errors"
	"strings"
)

// layRoot makes the sandbox's root in the slot. What the host gives lies in it as mounts of the host's, and not as mounts
// of the sandbox's kernel: those are asked anew whenever a file is opened, and a root is not.
func (m *making) layRoot(context.Context) error {
	root := m.spec.RootFS
	if root.Host == (root.Image != "") {
		return errors.New("a sandbox has either the host's programs or an image")
	}
	m.recipe.root = m.slot.RootDir()
	if err := m.shared.layout.Make(m.recipe.root); err != nil {
		return err
	}
	for _, b := range m.shared.layout.Binds(m.shared.etc, m.shared.empty) {
		if err := m.slot.Show(b.Source, inRoot(b.Target)); err != nil {
			return err
		}
	}
	return nil
}

// inRoot is a path of the sandbox beneath its root.
func inRoot(target string) string { return strings.TrimPrefix(target, "/") }
