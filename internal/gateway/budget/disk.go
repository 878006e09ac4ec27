package budget

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// disk is the set of operations that the ledger does on its directory. A test stops it before any of them, and in the
// middle of a write.
type disk interface {
	// read returns the content of a file, or nil if the file does not exist.
	read(name string) ([]byte, error)
	// open opens a file for appending, and creates it if it does not exist.
	open(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	// holds reports whether a name leads to an open file.
	holds(name string, f file) bool
	// flush writes the names of the directory to the disk.
	flush() error
}

// file is open for appending.
type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// directory is the disk that a real ledger uses.
type directory string

func (d directory) read(name string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

func (d directory) open(name string) (file, error) {
	return os.OpenFile(filepath.Join(string(d), name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
}

func (d directory) rename(from, to string) error {
	return os.Rename(filepath.Join(string(d), from), filepath.Join(string(d), to))
}

func (d directory) remove(name string) error {
	err := os.Remove(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d directory) holds(name string, f file) bool {
	named, err := os.Lstat(filepath.Join(string(d), name))
	if err != nil {
		return false
	}
	open, err := f.(*os.File).Stat()
	return err == nil && os.SameFile(named, open)
}

func (d directory) flush() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
