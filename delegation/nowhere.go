package delegation

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// NowherePrefix begins the name of a stand-in's directory. Nobody but a killed process leaves one.
const NowherePrefix = "nowhere-"

// OpenNowhere stands for an outbox that cannot be opened, and why: it holds an empty directory, made for a moment in the state
// directory and removed as soon as it is open. It can be opened again and looked at, as any directory that is held, but nothing can
// be read or written there, and Alive says why.
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

// Why says why the outbox could not be opened, nil where it was.
func (d *Dir) Why() error { return d.why }
