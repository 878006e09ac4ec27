package tree

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Empty removes the content of the directory called name in an open directory, and reports how much is left. The
// directory itself stays. The caller removes it by name: even if another directory has taken the name by then, an empty
// one is no loss.
//
// right gets a handle on the directory, so a swap of names cannot fool it, and returns an error if this is not the
// intended directory. Empty follows no link and enters no mount. Entries that the calling thread's user may not remove
// stay too.
//
// Empty keeps at most two directories open, however deep the tree is. It moves each directory that is not empty up to
// the top and empties it there later. So a caller can stop it at any point, and the next call continues where it was.
func Empty(ctx context.Context, parent *os.File, name string, right func(*os.File) error, bounds Bounds) (Emptied, error) {
	pin, err := openFile(int(parent.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return Emptied{}, err
	}
	defer pin.Close()
	if err := right(pin); err != nil {
		return Emptied{}, err
	}
	top, err := openPinned(pin)
	if err != nil {
		return Emptied{}, err
	}
	defer top.Close()
	e := emptying{ctx: ctx, bounds: bounds, top: top, began: time.Now(), prefix: ".torno-" + hex.EncodeToString(random(8)) + "-"}
	return e.all()
}

// emptying is one Empty under way.
type emptying struct {
	ctx    context.Context
	bounds Bounds
	top    *os.File
	began  time.Time
	prefix string // of the names that directories get when they move to the top
	moved  int    // directories that got such a name
	looked int64  // entries that were looked at
	Emptied
}

// all repeats passes over the top until nothing is left there or a pass changed nothing.
func (e *emptying) all() (Emptied, error) {
	for {
		e.Left = 0
		before := e.Removed + int64(e.moved)
		if err := e.pass(e.top, e.subdirectory); err != nil {
			return e.Emptied, err
		}
		if e.over() || e.Left == 0 || e.Removed+int64(e.moved) == before {
			return e.Emptied, nil
		}
	}
}

// over reports whether a bound is reached.
func (e *emptying) over() bool {
	if e.ctx.Err() != nil || e.bounds.Entries > 0 && e.looked >= e.bounds.Entries || e.bounds.Time > 0 && time.Since(e.began) >= e.bounds.Time {
		e.Stopped = true
	}
	return e.Stopped
}

// pageOfNames is the number of a directory's names that are held at once.
const pageOfNames = 256

// pass goes through a directory once and removes its entries. It leaves each directory that is not empty to the
// function directory.
func (e *emptying) pass(dir *os.File, directory func(in *os.File, name string) error) error {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for !e.over() {
		names, err := dir.Readdirnames(pageOfNames)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if e.over() {
				return nil
			}
			e.looked++
			if err := e.remove(dir, name, directory); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the entry that has the name in an open directory, whatever it is by then.
func (e *emptying) remove(in *os.File, name string, directory func(*os.File, string) error) error {
	err := unlink(in, name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) { // POSIX wants EPERM here for a directory
		err = unlink(in, name, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil:
		e.Removed++
	case errors.Is(err, unix.ENOENT):
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return directory(in, name)
	default:
		e.Left++
	}
	return nil
}

// subdirectory empties a directory that lies at the top.
func (e *emptying) subdirectory(top *os.File, name string) error {
	pin, err := openFile(int(top.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		e.Left++ // a mount, or not a directory any more
		return nil
	}
	defer pin.Close()
	dir, err := openPinned(pin)
	if err != nil {
		e.Left++
		return nil
	}
	defer dir.Close()
	if err := e.pass(dir, e.moveUp); err != nil {
		return err
	}
	if unlink(top, name, unix.AT_REMOVEDIR) == nil {
		e.Removed++
	} else {
		e.Left++
	}
	return nil
}

// moveUp moves a directory that is not empty to the top, where a later pass finds it. A mount cannot be moved. The
// kernel moves a directory only if its owner may write to it, so moveUp gives that right if it is missing.
func (e *emptying) moveUp(in *os.File, name string) error {
	for range 3 {
		e.moved++
		err := unix.Renameat2(int(in.Fd()), name, int(e.top.Fd()), e.prefix+strconv.Itoa(e.moved), unix.RENAME_NOREPLACE)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			e.Left++ // now left at the top
			return nil
		case errors.Is(err, unix.EEXIST):
			continue
		case errors.Is(err, unix.EACCES):
			e.moved--
			if !makeWritable(in, name) {
				e.Left++
				return nil
			}
		default:
			e.moved--
			e.Left++
			return nil
		}
	}
	e.Left++
	return nil
}

func unlink(in *os.File, name string, flags int) error {
	return retry(func() error { return unix.Unlinkat(int(in.Fd()), name, flags) })
}

// openFile opens an entry of an open directory and follows no link.
func openFile(at int, name string, flags uint64) (*os.File, error) {
	fd, err := open(at, name, flags, beneath)
	if err != nil {
		return nil, fmt.Errorf("open a directory that is to be removed: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openPinned opens a directory for reading. If the directory is shut even to its owner, as in a cache of Go modules, it
// first gives the owner all rights.
func openPinned(pin *os.File) (*os.File, error) {
	if info, err := pin.Stat(); err == nil && info.Mode().Perm()&0o700 != 0o700 {
		_ = unshut(pin) // fails for another user's directory; then its mode decides whether it can be opened
	}
	return openFile(int(pin.Fd()), ".", readDir)
}

func makeWritable(in *os.File, name string) bool {
	pin, err := openFile(int(in.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return false
	}
	defer pin.Close()
	return unshut(pin) == nil
}

// unshut gives the owner of a pinned directory all rights to it. The link in /proc leads to exactly that directory.
func unshut(pin *os.File) error {
	return unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(pin.Fd())), 0o700, 0)
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
