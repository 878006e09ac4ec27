package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"torno/internal/flock"
)

// suffixes lists the files of one journal: the database, its log and the log's index.
var suffixes = []string{"", "-wal", "-shm"}

// prepareDirectory makes the directory if it is missing, and demands that it is closed to other users.
func prepareDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	return checkDirectory(dir)
}

// checkDirectory follows a link, because only the directory at its end counts. systemd's StateDirectory may be such a
// link.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("look at the state directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a directory", ErrUnsafe, dir)
	case !ours(info):
		return fmt.Errorf("%w: the directory %s belongs to another user; run as that user or choose another directory", ErrUnsafe, dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: the directory %s has mode %04o; run `chmod 700 %s`", ErrUnsafe, dir, info.Mode().Perm(), dir)
	}
	return nil
}

// check reports whether a journal exists, and returns an error if its files show that it must not be opened. It changes
// nothing.
func check(path string) (found bool, err error) {
	if found, err = checkFiles(path); err != nil {
		return false, err
	}
	return found, checkUse(path, found)
}

// checkFiles reports whether a journal exists. It refuses a journal that other users could have planted or can read.
func checkFiles(path string) (found bool, err error) {
	for _, suffix := range suffixes {
		info, err := os.Lstat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look at the journal: %w", err)
		}
		if err := checkFile(path+suffix, info); err != nil {
			return false, err
		}
		if suffix == "-wal" && !found && info.Size() > 0 {
			// SQLite would replay the log into a new file.
			return false, damaged(path, "is missing, although its log "+path+suffix+" is there")
		}
		found = found || suffix == ""
	}
	return found, nil
}

func checkFile(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", ErrUnsafe, path)
	case !ours(info):
		return fmt.Errorf("%w: %s belongs to another user", ErrUnsafe, path)
	case links(info) > 1:
		return fmt.Errorf("%w: %s has a second name somewhere (a hard link)", ErrUnsafe, path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: %s has mode %04o; run `chmod 600 %s`", ErrUnsafe, path, info.Mode().Perm(), path)
	}
	return nil
}

func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func links(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(stat.Nlink) // 16 bits on macOS
}

func missing(path string) error {
	return fmt.Errorf("open the journal: %w", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist})
}

// lock keeps a second process out while a journal is made or migrated. The lock file stays: if it were removed, two
// processes could each lock a different file of the same name.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal's lock: %w", err)
	}
	if err := flock.Wait(context.Background(), f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { f.Close() }, nil
}
