//go:build !linux

package serve

import (
	"os"
	"path/filepath"
)

// makeFor is for systems on which nothing is served.
func makeFor(around *os.File, name string, mode uint32) error {
	return os.Mkdir(filepath.Join(around.Name(), name), os.FileMode(mode))
}
