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

// Empty removes what lies in the directory name of a held directory, and says whether nothing is left there. The directory itself stays,
// for the caller to remove by name: a directory that is empty is nobody's loss.
//
// right looks at the directory, by a handle that no exchange of names changes, and says whether it is the one that is meant. Nothing
// is followed: no link, and no mount. What the calling thread's user may not remove stays too.
//
// However deep the tree is, two directories are open at most: a directory that is not empty is moved up to the top, and its turn comes.
// So it can be cut off anywhere, and goes on where it was.
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
	prefix string // of the names that directories get at the top
	moved  int    // how many have got one
	looked int64  // at entries
	Emptied
}

// all goes through the top until nothing is there, or a pass has changed nothing.
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

// over says whether a bound is reached.
func (e *emptying) over() bool {
	if e.ctx.Err() != nil || e.bounds.Entries > 0 && e.looked >= e.bounds.Entries || e.bounds.Time > 0 && time.Since(e.began) >= e.bounds.Time {
		e.Stopped = true
	}
	return e.Stopped
}

// pageOfNames is how many names of a directory are held at once.
const pageOfNames = 256

// pass removes what is in a directory, once. Each directory in it that is not empty is for directory to deal with.
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

// remove removes an entry by its name in a held directory, whatever it is by then.
func (e *emptying) remove(in *os.File, name string, directory func(*os.File, string) error) error {
	err := unlink(in, name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) { // EPERM is POSIX's word for a directory
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

// subdirectory empties a directory of the top.
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

// moveUp moves a directory that is not empty to the top, whose later passes find it there. A mount cannot be moved. To be moved, a
// directory has to be its owner's to write.
func (e *emptying) moveUp(in *os.File, name string) error {
	for range 3 {
		e.moved++
		err := unix.Renameat2(int(in.Fd()), name, int(e.top.Fd()), e.prefix+strconv.Itoa(e.moved), unix.RENAME_NOREPLACE)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			e.Left++ // at the top
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

// openFile opens an entry of a held directory, and follows nothing.
func openFile(at int, name string, flags uint64) (*os.File, error) {
	fd, err := open(at, name, flags, beneath)
	if err != nil {
		return nil, fmt.Errorf("open a directory that is to be removed: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openPinned opens a directory for reading. Where it is shut to its owner, as a cache of modules is, it is opened to it first.
func openPinned(pin *os.File) (*os.File, error) {
	if info, err := pin.Stat(); err == nil && info.Mode().Perm()&0o700 != 0o700 {
		_ = unshut(pin) // of another user's directory what that one may not do fails
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

// unshut gives the owner of a held directory all rights to it. The link in /proc leads to what is held, and nowhere else.
func unshut(pin *os.File) error {
	return unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(pin.Fd())), 0o700, 0)
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
