package budget

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// disk has the operations of the ledger on its directory. A test stops it before any of these and in the middle of a write.
type disk interface {
	// read returns the content of a file, nil if the file does not exist.
	read(name string) ([]byte, error)
	// open opens a file to append to it, and makes it if it does not exist.
	open(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	// holds says whether a name leads to an open file.
	holds(name string, f file) bool
	// flush puts the names of the directory on the disk.
	flush() error
}

// file is open for appending.
type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// directory is the disk.
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
