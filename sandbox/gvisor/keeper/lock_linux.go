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

// lockBox keeps other keepers out, and shows the watcher that this one lives. The lock belongs to the open file, so it
// ends when the process that holds the file ends, for whatever reason.
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

// isHeld reports whether a keeper lives. It does not take the lock to find out: a keeper that begins at the same moment
// would give up.
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
