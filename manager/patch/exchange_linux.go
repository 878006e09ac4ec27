package patch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// What renameWith does if the new name is taken.
const (
	exchanging = unix.RENAME_EXCHANGE
	failing    = unix.RENAME_NOREPLACE
)

// renameWith renames an entry within a directory at once, and never overwrites another one. If the file system cannot
// do that, the error is errNoExchange.
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
