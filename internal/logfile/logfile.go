// Package logfile is a log with a bound, for a process that has nothing else to write to. At 8 MiB the file becomes FILE.1, in the
// place of the one that had this name, and a new one begins.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// most is how large a file becomes.
const most = 8 << 20

// File is an open log. All its methods may be called at once.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens a log, or makes it, for its own user only. A log that is already full begins anew.
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

// Write appends. Where no new file can be begun, the old one goes on.
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

// Handle is the file that is open now, for a process that is to write there too.
func (f *File) Handle() *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file
}

// Close closes it.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
