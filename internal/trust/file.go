package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// OpenFile opens a regular file for reading. It makes sure that only trusted users can change where the path leads.
func (r Rule) OpenFile(path string) (*os.File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	real, err := r.Follow(absolute)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
