// Package beneath opens files and directories below a directory into which a stranger writes, such as a workspace.
//
//	dir, _ := beneath.Dir(root, "sub/dir")           // each step must be a directory, not a link
//	file, seen, _ := beneath.OpenFile(root, "a.txt") // must be a regular file with only one name
//
// It goes by handle, one name at a time, and never follows a link, not even a link that stays inside. os.Root alone
// follows such links, even with O_NOFOLLOW. So each step looks first, opens without blocking, and compares the opened
// file with the file that it saw (invariant I5). If a file is moved or replaced meanwhile, the step fails with
// ErrMoved; nothing outside is opened.
package beneath

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"torno/delegation"
)

// ErrMoved means that a name led to another file than Lstat had seen.
var ErrMoved = errors.New("changed while it was opened")

// ErrNotDirectory means that something else lies where a directory should be.
var ErrNotDirectory = errors.New("is not a directory")

// ReadFile reads up to limit bytes of the file rel beneath root, and reports whether there is more. root belonged to a
// child. The file must be a regular file with one name, and no component may be a link.
func ReadFile(root *os.Root, rel string, limit int64) (data []byte, more bool, err error) {
	f, _, err := OpenFile(root, rel)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return ReadUpTo(f, limit)
}

// OpenFile opens a regular file with one name for reading; no component may be a link. It also returns the file's
// information from Lstat.
func OpenFile(root *os.Root, rel string) (*os.File, os.FileInfo, error) {
	dir, name := filepath.Split(rel)
	parent, err := Dir(root, dir)
	if err != nil {
		return nil, nil, err
	}
	defer parent.Close()
	return Open(parent, name, CheckPlain)
}

// Open opens the file that has this name in a directory, for reading, if check accepts it. It also returns the file's
// information from Lstat.
func Open(parent *os.Root, name string, check func(os.FileInfo) error) (*os.File, os.FileInfo, error) {
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := check(seen); err != nil {
		return nil, nil, fmt.Errorf("%s %w", name, err)
	}
	f, err := parent.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := checkSame(f, seen, check); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s %w", name, err)
	}
	return f, seen, nil
}

// ReadUpTo reads up to limit bytes from the beginning of a file, and reports whether there is more.
func ReadUpTo(f *os.File, limit int64) (data []byte, more bool, err error) {
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, err
	}
	return data, false, err
}

// Dir opens the directory rel beneath root, one component after the other. No component may be a link.
func Dir(root *os.Root, rel string) (*os.Root, error) {
	return DirThrough(root, rel, func(os.FileInfo) error { return nil })
}

// DirThrough opens a directory as Dir does, if check accepts root and each directory on the way, including the last.
func DirThrough(root *os.Root, rel string, check func(os.FileInfo) error) (*os.Root, error) {
	here, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	if err := checkDir(here, check); err != nil {
		here.Close()
		return nil, err
	}
	for name := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		next, err := Step(here, name)
		here.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rel, err)
		}
		here = next
		if err := checkDir(here, check); err != nil {
			here.Close()
			return nil, fmt.Errorf("%s: %w", rel, err)
		}
	}
	return here, nil
}

func checkDir(dir *os.Root, check func(os.FileInfo) error) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	return check(info)
}

// Step opens one directory in parent. The directory must not be a link. It does not wait where a FIFO has taken the
// directory's place since it looked: Root opens what stands before a slash as a directory only.
func Step(parent *os.Root, name string) (*os.Root, error) {
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s %w but %s", name, ErrNotDirectory, Describe(seen.Mode()))
	}
	next, err := parent.OpenRoot(name + "/.")
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(got, seen) {
		err = fmt.Errorf("%s %w", name, ErrMoved)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// CheckPlain refuses everything but a regular file with one link.
func CheckPlain(fi os.FileInfo) error {
	if err := CheckRegular(fi); err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || st.Nlink != 1 {
		return delegation.ErrLinked
	}
	return nil
}

// CheckRegular refuses everything but a regular file.
func CheckRegular(fi os.FileInfo) error {
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("is %s: %w", Describe(fi.Mode()), delegation.ErrNotRegular)
	}
	return nil
}

// checkSame checks that an open file is the file that Lstat saw, and that check still accepts it.
func checkSame(f *os.File, seen os.FileInfo, check func(os.FileInfo) error) error {
	got, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(got, seen) {
		return ErrMoved
	}
	return check(got)
}

// Describe names a type of file for people.
func Describe(mode os.FileMode) string {
	switch {
	case mode&os.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file"
}
