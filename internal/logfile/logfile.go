// Package logfile writes a log of bounded size, for a process that has nothing else to write to. When the file reaches
// 8 MiB, it is renamed to FILE.1, which replaces an earlier FILE.1, and a new file begins.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// most bounds the size of a file, in bytes.
const most = 8 << 20

// File is an open log. Several goroutines may call its methods at the same time.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens a log, or makes a new one for its own user only. If the log is full, Open begins a new file.
func Open(path string) (*File, error) {
	f := &File{path: path}
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && info.Size() >= most {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return f, f.open()
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write appends to the log. If it cannot begin a new file, it goes on with the old one.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size+int64(len(p)) > most && os.Rename(f.path, f.path+".1") == nil {
		old := f.file
		if f.open() == nil {
			old.Close()
		} else {
			f.file, f.size = old, 0
		}
	}
	n, err := f.file.Write(p)
	f.size += int64(n)
	return n, err
}

// Handle returns the file that is open now, for another process that is to write to it too.
func (f *File) Handle() *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file
}

// Close closes the log.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
