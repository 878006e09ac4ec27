//go:build !linux

package inode

import (
	"errors"
	"os"
)

// Of returns an error: it works on Linux only, as watchers do.
func Of(*os.File) (Directory, error) {
	return Directory{}, errors.New("the lasting identity of a directory is known on Linux only")
}
