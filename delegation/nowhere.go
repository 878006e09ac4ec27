package delegation

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// NowherePrefix begins the name of a stand-in's directory. Such a directory stays behind only if the process is killed.
const NowherePrefix = "nowhere-"

// OpenNowhere returns a stand-in for an outbox that cannot be opened, and keeps the reason why. The stand-in is an
// empty directory: OpenNowhere makes it in the state directory, opens it and removes it at once. Like any open
// directory it can be opened again and looked at, but nothing can be read or written there, and Alive returns the
// reason.
func OpenNowhere(path, state string, why error) (d *Dir, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("stand in for outbox %q: %w", path, err)
		}
	}()
	root, err := os.OpenRoot(state)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := NowherePrefix + rand.Text()
	if err := root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	d, err = OpenDir(filepath.Join(state, name))
	if gone := root.Remove(name); gone != nil && err == nil {
		err = errors.Join(gone, d.Close())
	}
	if err != nil {
		return nil, err
	}
	d.path, d.why = path, why
	return d, nil
}

// Why returns why the outbox could not be opened, or nil if it was opened.
func (d *Dir) Why() error { return d.why }
