// Package atomicfile replaces a whole file. A process that is killed in the middle leaves the old file or the new one, and
// never half of one. It may leave a draft beside it.
//
//	err := atomicfile.Write(filepath.Join(state, "calendar"), text, 0o600, atomicfile.Durable)
//
// A caller that does more than write bytes begins a Draft and gives it the name itself:
//
//	draft, err := atomicfile.Begin(filepath.Dir(path))
//	if err != nil {
//		return err
//	}
//	defer draft.Drop()
//	_, err = draft.Write(text)
//	if err := errors.Join(err, draft.Chown(uid, gid)); err != nil {
//		return err
//	}
//	return draft.Put(filepath.Base(path), atomicfile.Durable)
//
// Three packages write files themselves, because a stranger may exchange their files at the same moment: delegation writes
// an outbox, patch writes a parent's files, and initproc writes a child's answer.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Flush says whether the writer waits for the disk.
type Flush bool

const (
	// Durable waits until the content and the name are on the disk, so that they survive a power cut.
	Durable Flush = true
	// Fast does not wait. After a power cut the file may be the old one, the new one, empty or gone.
	Fast Flush = false
)

// DraftSuffix ends the names of the drafts of Write.
const DraftSuffix = ".new"

// Write replaces the file at path, in a directory that only the host writes. Its draft is PATH.new, so a killed writer
// leaves nothing that the next writer does not remove. Two callers must not write the same path at the same time.
func Write(path string, content []byte, mode fs.FileMode, flush Flush) error {
	d, err := begin(byPath{}, filepath.Dir(path), filepath.Base(path)+DraftSuffix, draftMode)
	if errors.Is(err, fs.ErrExist) {
		if err := os.Remove(path + DraftSuffix); err != nil {
			return err
		}
		d, err = begin(byPath{}, filepath.Dir(path), filepath.Base(path)+DraftSuffix, draftMode)
	}
	if err != nil {
		return err
	}
	return d.fill(filepath.Base(path), content, mode, flush)
}

// WriteIn replaces a file in a directory, with mode 0600. Several callers may write the same name at the same time.
func WriteIn(dir *os.Root, name string, content []byte, flush Flush) error {
	d, err := BeginIn(dir, ".", draftMode)
	if err != nil {
		return err
	}
	return d.fill(name, content, draftMode, flush)
}

const draftMode fs.FileMode = 0o600

// Draft is a file with a temporary name. Its writer fills it, and Put renames it.
type Draft struct {
	*os.File
	root directory
	dir  string
	temp string // "" after the draft has got its name
}

// directory has the calls that a Draft needs. An *os.Root makes them beneath a directory, and byPath makes them by path.
type directory interface {
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	Chtimes(name string, accessed, modified time.Time) error
}

// Begin creates a draft in a directory. Its mode is 0600, and nobody can guess its name.
func Begin(dir string) (*Draft, error) { return begin(byPath{}, dir, randomName(), draftMode) }

// BeginIn creates a draft in a directory beneath root. The umask may narrow its mode.
func BeginIn(root *os.Root, dir string, mode fs.FileMode) (*Draft, error) {
	return begin(root, dir, randomName(), mode)
}

// DraftPrefix begins the names of the drafts of Begin and BeginIn. A killed process leaves its draft.
const DraftPrefix = ".new-"

func randomName() string { return DraftPrefix + rand.Text() }

func begin(root directory, dir, name string, mode fs.FileMode) (*Draft, error) {
	d := &Draft{root: root, dir: dir, temp: filepath.Join(dir, name)}
	var err error
	d.File, err = root.OpenFile(d.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	return d, err
}

func (d *Draft) fill(name string, content []byte, mode fs.FileMode, flush Flush) error {
	_, err := d.Write(content)
	if err == nil && mode != draftMode {
		err = d.Chmod(mode)
	}
	if err == nil {
		err = d.Put(name, flush)
	}
	return errors.Join(err, d.Drop())
}

// SetTime sets the time of the draft's last change.
func (d *Draft) SetTime(modified time.Time) error {
	return d.root.Chtimes(d.temp, time.Time{}, modified)
}

// Put closes the draft and gives it a name in its directory. A file of that name is replaced.
func (d *Draft) Put(name string, flush Flush) error { return d.put(name, flush, d.root.Rename) }

// PutNew does the same as Put, but fails with fs.ErrExist if something has the name.
func (d *Draft) PutNew(name string, flush Flush) error {
	return d.put(name, flush, func(from, to string) error {
		if err := d.root.Link(from, to); err != nil { // a link, unlike a rename, replaces nothing
			return err
		}
		return d.root.Remove(from)
	})
}

func (d *Draft) put(name string, flush Flush, move func(from, to string) error) error {
	var err error
	if flush == Durable {
		err = d.Sync()
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	if err := move(d.temp, filepath.Join(d.dir, name)); err != nil {
		return err
	}
	d.temp = ""
	if flush == Durable {
		return syncDirectory(d.root, d.dir)
	}
	return nil
}

// Drop removes the draft. After Put it does nothing, so a caller may always defer it.
func (d *Draft) Drop() error {
	if d.temp == "" {
		return nil
	}
	closed, removed := d.Close(), d.root.Remove(d.temp)
	if errors.Is(closed, os.ErrClosed) {
		closed = nil
	}
	if errors.Is(removed, fs.ErrNotExist) {
		removed = nil
	}
	return errors.Join(closed, removed)
}

// SyncDirectory writes the names in a directory to the disk.
func SyncDirectory(dir string) error { return syncDirectory(byPath{}, dir) }

// SyncRoot writes the names in an open directory to the disk.
func SyncRoot(dir *os.Root) error { return syncDirectory(dir, ".") }

func syncDirectory(root directory, dir string) error {
	d, err := root.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // not every file system can
		err = nil
	}
	return errors.Join(err, d.Close())
}

// byPath calls package os.
type byPath struct{}

func (byPath) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, mode)
}
func (byPath) Rename(from, to string) error { return os.Rename(from, to) }
func (byPath) Link(from, to string) error   { return os.Link(from, to) }
func (byPath) Remove(name string) error     { return os.Remove(name) }
func (byPath) Chtimes(name string, accessed, modified time.Time) error {
	return os.Chtimes(name, accessed, modified)
}
