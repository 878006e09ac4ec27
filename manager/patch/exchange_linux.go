package patch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchangeNames exchanges two names of a directory at once. Where the file system cannot do that, the error is errNoExchange.
func exchangeNames(dir *os.Root, a, b string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	err = unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errNoExchange
	}
	return err
}
