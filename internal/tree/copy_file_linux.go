package tree

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// readPinned opens the regular file behind a handle for reading. The handle's link in /proc leads to exactly this file.
// Under the file's name there may be a device by now, and merely opening a device is already using it.
func readPinned(pin int) (*os.File, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(pin), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	return os.NewFile(uintptr(fd), "a pinned file"), err
}

// file copies the regular file behind the handle pin.
func (c *copying) file(pin, to int, name, at string, st *unix.Stat_t) error {
	source, err := readPinned(pin)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		c.leave(at, unreadable)
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	from := int(source.Fd())
	made, err := unix.Openat(to, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(made)
	switch err := c.fill(from, made, to, st); {
	case errors.Is(err, unix.EFBIG), errors.Is(err, unix.EINVAL):
		c.leave(at, "it is longer than the copy's file system allows")
		return retry(func() error { return unix.Unlinkat(to, name, 0) })
	case err != nil:
		return err
	}
	c.Files++
	if err := unix.Fchmod(made, st.Mode&0o777|0o600); err != nil {
		return err
	}
	return unix.UtimesNanoAt(made, "", []unix.Timespec{st.Mtim, st.Mtim}, unix.AT_EMPTY_PATH)
}

// fill copies the content of a file, up to the size that the file had when it was looked at. Blocks that a clone shares
// with the original count too, because a child that writes to the clone will take that room.
func (c *copying) fill(from, made, to int, st *unix.Stat_t) error {
	const block = 512 // bytes in a unit of st_blocks, on every file system
	if c.bounds.Bytes > 0 && c.Bytes+st.Blocks*block > c.bounds.Bytes {
		return c.took(st.Blocks*block, to)
	}
	if unix.IoctlFileClone(made, from) == nil {
		var is unix.Stat_t
		if err := unix.Fstat(made, &is); err != nil { // it may have grown before it was cloned
			return err
		}
		c.Cloned++
		return c.took(is.Blocks*block, to)
	}
	for at := int64(0); at < st.Size; {
		data, end, err := extent(from, at, st.Size)
		if err != nil {
			return err
		}
		if data == end {
			break
		}
		if at, err = end, c.pour(from, made, to, data, end); err != nil {
			return err
		}
	}
	return retry(func() error { return unix.Ftruncate(made, st.Size) })
}

// extent returns the next part of a file that is not a hole. The part is empty if only a hole is left.
func extent(fd int, at, size int64) (data, end int64, err error) {
	data, err = unix.Seek(fd, at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL):
		return at, size, nil // this file system does not tell holes from data
	case err != nil:
		return 0, 0, err
	}
	if end, err = unix.Seek(fd, data, unix.SEEK_HOLE); err != nil {
		return size, size, nil //nolint:nilerr // the file has shrunk since
	}
	return min(data, size), min(end, size), nil
}

// pour copies a part of a file.
func (c *copying) pour(from, made, to int, at, end int64) error {
	for at < end {
		if err := c.goesOn(to); err != nil {
			return err
		}
		n, err := unix.Pread(from, c.buffer[:min(int64(len(c.buffer)), end-at)], at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return err // if n is 0, the file has shrunk since
		}
		if err := c.took(int64(n), to); err != nil {
			return err
		}
		for some := c.buffer[:n]; len(some) > 0; {
			wrote, err := unix.Pwrite(made, some, at)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
			wrote = max(wrote, 0)
			some, at = some[wrote:], at+int64(wrote)
		}
	}
	return nil
}
