package delegation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenNowhere stands for an outbox that cannot be opened, and why: it holds an empty directory that is gone already, made for
// a moment in a directory of the host's. Nothing can be read or written there, and Alive says why.
func OpenNowhere(path, host string, why error) (d *Dir, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("stand in for outbox %q: %w", path, err)
		}
	}()
	const empty = "nowhere"
	root, err := os.OpenRoot(host)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.Mkdir(empty, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // an earlier one was killed
		return nil, err
	}
	d, err = OpenDir(filepath.Join(host, empty))
	if err := errors.Join(err, root.Remove(empty)); err != nil {
		return nil, err
	}
	d.path, d.why = path, why
	return d, nil
}

// Why says why the outbox could not be opened, nil where it was.
func (d *Dir) Why() error { return d.why }
