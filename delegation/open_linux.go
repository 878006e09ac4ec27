package delegation

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// open pins the entry without opening it (O_PATH), looks at it, and then opens exactly the entry that it looked at. If
// it looked at the name and then opened the name, somebody could swap in a device between the two steps, and merely
// opening some devices is enough to stop a machine.
func (d *Dir) open(name string, max int64) (*os.File, Stamp, error) {
	pin, err := unix.Openat(d.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, Stamp{}, err
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return nil, Stamp{}, err
	}
	stamp := stampOf(&st)
	if err := acceptable(stamp, max); err != nil {
		return nil, stamp, err
	}
	// Non-blocking: otherwise a process with a write lease on the file could make this wait.
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(pin), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil, Stamp{}, ErrChanged
	case errors.Is(err, unix.ENOENT): // the pinned file itself cannot go missing
		return nil, Stamp{}, errors.New("/proc is not mounted, and without it a file cannot be opened safely")
	case err != nil:
		return nil, stamp, err
	}
	return os.NewFile(uintptr(fd), name), stamp, nil
}
