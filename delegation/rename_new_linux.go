package delegation

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNew gives a file its name where nothing has it. A file system that cannot do that in one step does it in two, and between them
// the file has two names: a reader looks again.
func (d *Dir) renameNew(from, to string) error {
	err := unix.Renameat2(d.fd(), from, d.fd(), to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return d.linkNew(from, to)
	}
	return err
}
