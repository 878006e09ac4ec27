// Package flock locks files and directories against other processes. A lock belongs to one opening of a file. It ends
// with Unlock, or when no process has that opening any more, so it never outlives the processes.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"torno/internal/retry"
)

// ErrHeld says that somebody else has the lock.
var ErrHeld = errors.New("somebody else has the lock")

// Try locks a file for this opening alone. If another opening has a lock, Try fails at once with ErrHeld.
func Try(file *os.File) error { return call(file, syscall.LOCK_EX|syscall.LOCK_NB) }

// TryShared locks a file together with other openings that do the same. If an opening has the file alone, TryShared
// fails at once with ErrHeld.
func TryShared(file *os.File) error { return call(file, syscall.LOCK_SH|syscall.LOCK_NB) }

// Wait locks a file for this opening alone, as soon as it can. If the context ends first, the error is ErrHeld and the
// context's cause.
func Wait(ctx context.Context, file *os.File) error {
	for {
		err := Try(file)
		if !errors.Is(err, ErrHeld) {
			return err
		}
		if retry.Pause(ctx, retry.Soon) != nil {
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// Unlock ends the lock, even if another process has inherited the opening.
func Unlock(file *os.File) error { return call(file, syscall.LOCK_UN) }

func call(file *os.File, how int) error {
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(file.Fd()), how)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}
