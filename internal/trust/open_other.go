//go:build !linux

package trust

import "os"

// Open opens the file or directory at a path, and makes sure that only trusted users can exchange it.
func (r Rule) Open(path string) (*os.File, error) {
	if err := r.Check(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}
