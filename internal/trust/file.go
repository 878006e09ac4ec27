package trust

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ReadFile returns the content of a file that OpenFile opens, if it has at most so many bytes.
func (r Rule) ReadFile(path string, most int64) ([]byte, error) {
	file, err := r.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return text, err
}

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
