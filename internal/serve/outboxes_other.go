//go:build !linux

package serve

import (
	"os"
	"path/filepath"
)

// makeFor makes a directory on systems that serve nothing.
func makeFor(around *os.File, name string, mode uint32) error {
	return os.Mkdir(filepath.Join(around.Name(), name), os.FileMode(mode))
}

// asOwnerOf calls a function on systems that serve nothing.
func asOwnerOf(_ *os.File, call func() error) error { return call() }
