//go:build !linux

package delegation

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// open looks at the entry, opens it without following a link or blocking, and makes sure that both are the same.
func (d *Dir) open(name string, max int64) (*os.File, Stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, Stamp{}, err
	}
	seen := stampOf(&st)
	if err := acceptable(seen, max); err != nil {
		return nil, seen, err
	}
	fd, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EAGAIN) {
		return nil, Stamp{}, ErrChanged
	}
	if err != nil {
		return nil, seen, err
	}
	file := os.NewFile(uintptr(fd), name)
	if err := unix.Fstat(fd, &st); err != nil {
		file.Close()
		return nil, Stamp{}, err
	}
	if !stampOf(&st).same(seen) {
		file.Close()
		return nil, Stamp{}, ErrChanged
	}
	return file, seen, nil
}
