package mounts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The functions below are only for directories of our own. A function that removes something does not leave the mount
// where it began (see beneath), and the kernel removes no directory that carries a mount. So a user's tree is out of
// reach even if it cannot be unmounted.

// makeDir makes a directory that the sandbox's identity may enter, whatever our umask is.
func makeDir(at int, name string) error {
	if err := unix.Mkdirat(at, name, 0o755); err != nil {
		return &os.PathError{Op: "mkdir", Path: name, Err: err}
	}
	if err := unix.Fchmodat(at, name, 0o755, 0); err != nil {
		return &os.PathError{Op: "chmod", Path: name, Err: err}
	}
	return nil
}

// openDir opens a directory for lookups. It does not enter a mount.
func openDir(at int, name string) (*os.File, error) {
	fd, err := lookup(at, name, unix.O_PATH|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// namesIn lists a directory by its handle.
func namesIn(at int) ([]string, error) {
	fd, err := lookup(at, ".", unix.O_RDONLY|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: ".", Err: err}
	}
	dir := os.NewFile(uintptr(fd), ".")
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// wipe unmounts everything that is mounted in a directory, then removes everything in it.
func wipe(at int) error {
	names, err := namesIn(at)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := remove(at, name); err != nil {
			return fmt.Errorf("remove %q: %w", name, err)
		}
	}
	return nil
}

// remove removes one entry with everything in it.
func remove(at int, name string) error {
	if err := uncover(at, name); err != nil {
		return err
	}
	dir, err := openDir(at, name)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return unix.Unlinkat(at, name, 0)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := wipe(int(dir.Fd())); err != nil {
		return err
	}
	return unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
}

// maxStacked bounds how many mounts uncover removes from one place; Place puts at most one there.
const maxStacked = 16

// uncover unmounts the mount on name together with everything that is mounted below it: detaching the outermost mount
// takes the inner ones along. So no path is walked through a user's tree.
func uncover(at int, name string) error {
	for range maxStacked {
		fd, err := lookup(at, name, unix.O_PATH|unix.O_NOFOLLOW, beneath)
		if err == nil {
			return unix.Close(fd)
		}
		if !errors.Is(err, unix.EXDEV) {
			return err
		}
		if err := detachAt(at, name); err != nil {
			return err
		}
	}
	return fmt.Errorf("%q is still a mount: %w", name, unix.EBUSY)
}

func detachAt(at int, name string) error {
	fd, err := lookup(at, name, unix.O_PATH|unix.O_NOFOLLOW, across)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return detach(fd)
}

// detach unmounts the mount that has fd as its root, and no other.
func detach(fd int) error {
	return os.NewSyscallError("umount", unix.Unmount(procPath(fd), unix.MNT_DETACH))
}
