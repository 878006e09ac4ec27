package tree

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenBeneath opens the directory at a path below an open directory, but without the right to read it. It follows no
// link and crosses no mount.
func OpenBeneath(at *os.File, path string) (*os.File, error) {
	fd, err := open(int(at.Fd()), path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, beneath)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OwnerOf returns the user and the group of an open directory.
func OwnerOf(dir *os.File) (uid, gid uint32, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return 0, 0, fmt.Errorf("look at %s: %w", dir.Name(), err)
	}
	return st.Uid, st.Gid, nil
}

// Rename gives an entry of a directory another name in the same directory. The new name must be free.
func Rename(in *os.File, from, to string) error {
	return unix.Renameat2(int(in.Fd()), from, int(in.Fd()), to, unix.RENAME_NOREPLACE)
}

// MoveOut moves an entry into another directory, under a name that must be free there.
func MoveOut(in *os.File, from string, to *os.File, name string) error {
	return unix.Renameat2(int(in.Fd()), from, int(to.Fd()), name, unix.RENAME_NOREPLACE)
}

// Make makes a directory in an open one, and opens it for reading.
func Make(in *os.File, name string, perm uint32) (*os.File, error) {
	if err := retry(func() error { return unix.Mkdirat(int(in.Fd()), name, perm) }); err != nil {
		return nil, &os.PathError{Op: "make", Path: name, Err: err}
	}
	return OpenIn(in, name)
}

// OpenIn opens a directory in an open one for reading. It follows no link and crosses no mount.
func OpenIn(in *os.File, name string) (*os.File, error) {
	fd, err := open(int(in.Fd()), name, readDir, beneath)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// RemoveEmpty removes a directory that is empty.
func RemoveEmpty(in *os.File, name string) error { return unlink(in, name, unix.AT_REMOVEDIR) }
