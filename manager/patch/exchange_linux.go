package patch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// What renameWith does where there is something at the new name.
const (
	exchanging = unix.RENAME_EXCHANGE
	failing    = unix.RENAME_NOREPLACE
)

// renameWith renames in a directory at once, and replaces nothing. Where the file system cannot do that, the error is
// errNoExchange.
func renameWith(dir *os.Root, from, to string, how uint) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	err = unix.Renameat2(fd, from, fd, to, how)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errNoExchange
	}
	return err
}
