package manager

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

// errMoved says that a name led to another file than Lstat had seen.
var errMoved = errors.New("changed while it was opened")

// readFile reads up to limit bytes of the file rel beneath root, which belonged to a child, and says whether there is
// more. It must be a regular file with one name, and no component may be a link.
//
// os.Root follows a link that stays inside, even with O_NOFOLLOW, so each step looks first, opens without blocking, and
// compares what it got with what it saw.
func readFile(root *os.Root, rel string, limit int64) (data []byte, more bool, err error) {
	f, _, err := openFile(root, rel)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return readUpTo(f, limit)
}

func openFile(root *os.Root, rel string) (*os.File, os.FileInfo, error) {
	dir, name := filepath.Split(rel)
	parent, err := descend(root, dir)
	if err != nil {
		return nil, nil, err
	}
	defer parent.Close()
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := checkPlain(seen); err != nil {
		return nil, nil, fmt.Errorf("%s %w", rel, err)
	}
	f, err := parent.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := checkSame(f, seen); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s %w", rel, err)
	}
	return f, seen, nil
}

// readUpTo reads the beginning of a file and says whether there is more.
func readUpTo(f *os.File, limit int64) (data []byte, more bool, err error) {
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, err
	}
	return data, false, err
}

// descend opens the directory rel beneath root, one component after the other, none of them a link.
func descend(root *os.Root, rel string) (*os.Root, error) {
	here, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(filepath.Clean(rel), string(filepath.Separator)) {
		next, err := step(here, name)
		here.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rel, err)
		}
		here = next
	}
	return here, nil
}

// step opens one directory of a parent, which must not be a link.
func step(parent *os.Root, name string) (*os.Root, error) {
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s is not a directory but %s", name, describeType(seen.Mode()))
	}
	next, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(got, seen) {
		err = fmt.Errorf("%s %w", name, errMoved)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// checkPlain refuses everything but a regular file with one link.
func checkPlain(fi os.FileInfo) error {
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("is %s: %w", describeType(fi.Mode()), delegation.ErrNotRegular)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || st.Nlink != 1 {
		return delegation.ErrLinked
	}
	return nil
}

// checkSame checks that an open file is the one that Lstat saw, and still plain.
func checkSame(f *os.File, seen os.FileInfo) error {
	got, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(got, seen) {
		return errMoved
	}
	return checkPlain(got)
}

// describeType names a type of file for people.
func describeType(mode os.FileMode) string {
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
