package delegation

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNew gives a file its name if nothing has that name yet. If the file system cannot do that in one step, it takes
// two; between them the file has two names, and a reader has to look again.
func (d *Dir) renameNew(from, to string) error {
	err := unix.Renameat2(d.fd(), from, d.fd(), to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return d.linkNew(from, to)
	}
	return err
}
