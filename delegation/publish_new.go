package delegation

import (
	"fmt"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// PublishNew is Publish where nothing has the name yet. Otherwise it is fs.ErrExist, and what is there stays: of two writers that want a
// name, one gets it.
func (d *Dir) PublishNew(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("publish %w", err)
	}
	temp, err := renameio.NewPendingFile(tempPrefix[1:], renameio.WithRoot(d.root), renameio.WithPermissions(0o600))
	if err != nil {
		return fmt.Errorf("publish %q: %w", name, err)
	}
	if err = d.fill(temp.File, data); err == nil {
		err = d.renameNew(filepath.Base(temp.Name()), name)
	}
	if err != nil {
		_ = temp.Cleanup() // it removes the file, and complains that it is closed
		return fmt.Errorf("publish %q: %w", name, err)
	}
	return nil
}

// linkNew gives a file a second name, where nothing has that, and takes the first away.
func (d *Dir) linkNew(from, to string) error {
	if err := d.root.Link(from, to); err != nil {
		return err
	}
	return d.root.Remove(from)
}
