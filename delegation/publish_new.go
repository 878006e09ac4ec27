package delegation

import (
	"fmt"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// PublishNew publishes like Publish, but only if nothing has the name yet. Otherwise it returns fs.ErrExist and leaves
// the entry as it is: if two writers want a name, one gets it.
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
		_ = temp.Cleanup() // Cleanup removes the file; its complaint that the file is closed does not matter
		return fmt.Errorf("publish %q: %w", name, err)
	}
	return nil
}

// linkNew gives a file the name to, if nothing has that name yet, and then removes the name from.
func (d *Dir) linkNew(from, to string) error {
	if err := d.root.Link(from, to); err != nil {
		return err
	}
	return d.root.Remove(from)
}
