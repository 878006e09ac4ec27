package setup

import (
	"errors"
	"os"
	"path/filepath"
)

// FileName is the file, in the state directory of a gateway, of what a watcher said last.
const FileName = "setup.yaml"

// Write puts a text into that file, whole or not at all, also where the power fails.
func Write(dir string, text []byte) (err error) {
	path := filepath.Join(dir, FileName)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	above, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(above.Sync(), above.Close())
}
