package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// errHeld says that a box has a keeper.
var errHeld = errors.New("the box has a keeper")

// lockBox keeps other keepers out, and tells the watcher that this one lives. The lock is the open file's and not the
// process's, so it ends with the process that has it, however that ends.
func lockBox(box *os.Root) (*os.File, error) {
	file, err := box.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = errHeld
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("lock the box: %w", err)
	}
	return file, nil
}

// isHeld says whether a keeper lives. It takes no lock to learn it: a keeper that begins just then would give up.
func isHeld(box *os.Root) (bool, error) {
	file, err := box.Open(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock)
	return lock.Type != unix.F_UNLCK, err
}
