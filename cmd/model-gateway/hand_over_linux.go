package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/cli"
)

// deepest is how deep our own directories are nested below the directories of the state: a door has one. Whatever is
// deeper is left alone.
const deepest = 1

// handOver gives a directory of the state to the gateway's user, with everything in it that root owns, because an
// earlier gateway may have run as root. It changes the directory's own owner last, so that after a kill the next start
// does the rest. It returns a handle of the directory, as a mount of its own.
func handOver(path string, user uint32) (*os.File, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var was unix.Stat_t
	err = unix.Fstat(int(dir.Fd()), &was)
	if err == nil && was.Mode&0o077 != 0 {
		err = cli.Hint(fmt.Errorf("%s is open to other users", path), "chmod 700 "+path)
	}
	if err == nil {
		err = handOverBelow(dir, was.Uid, user, deepest)
	}
	if err == nil {
		err = dir.Chown(int(user), int(user))
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return mountOf(dir), nil
}

// mountOf clones the mount of a directory and closes the given handle. The kernel refuses a hard link from one mount to
// another. So a gateway that was taken over cannot put a service's socket among its doors, which children see. If this
// process may not clone a mount, mountOf returns the given handle.
func mountOf(dir *os.File) *os.File {
	fd, err := unix.OpenTree(int(dir.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return dir
	}
	dir.Close()
	return os.NewFile(uintptr(fd), dir.Name())
}

// handOverBelow gives to the gateway's user everything in a directory that belongs to root or to an earlier gateway's
// user. It holds a handle of each file while it checks it, because that earlier user may change things at the same
// time. It leaves a file with a second name alone, because that file may be one of the host's.
func handOverBelow(dir *os.File, before, user uint32, depth int) error {
	for {
		names, err := dir.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := handOverNames(dir, names, before, user, depth); err != nil {
			return err
		}
	}
}

func handOverNames(dir *os.File, names []string, before, user uint32, depth int) error {
	for _, name := range names {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		err = handOverOne(fd, before, user, depth)
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func handOverOne(fd int, before, user uint32, depth int) error {
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return err
	}
	kind := is.Mode & unix.S_IFMT
	if kind == unix.S_IFDIR && depth > 0 {
		below, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		dir := os.NewFile(uintptr(below), "directory")
		if err := errors.Join(handOverBelow(dir, before, user, depth-1), dir.Close()); err != nil {
			return err
		}
	}
	ours := is.Uid == 0 || is.Uid == before
	alone := is.Nlink == 1 && (kind == unix.S_IFREG || kind == unix.S_IFSOCK)
	if !ours || is.Uid == user || kind != unix.S_IFDIR && !alone {
		return nil
	}
	return unix.Fchownat(fd, "", int(user), int(user), unix.AT_EMPTY_PATH)
}
