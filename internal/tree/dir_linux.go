package tree

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. It is safe for concurrent use.
type Dir struct {
	file *os.File
	id   ID
}

// Reopen opens a directory once more, for reading, through a handle on it. The handle still belongs to the caller.
func Reopen(on *os.File) (*Dir, error) {
	fd, err := open(int(on.Fd()), ".", readDir, beneath)
	if err != nil {
		return nil, fmt.Errorf("open a workspace: %w", err)
	}
	d := &Dir{file: os.NewFile(uintptr(fd), "workspace")}
	if d.id, err = idOf(fd); err != nil {
		d.file.Close()
		return nil, fmt.Errorf("look at a workspace: %w", err)
	}
	return d, nil
}

// ID returns the identity of the directory.
func (d *Dir) ID() ID { return d.id }

// Close closes the directory. No walk may be under way.
func (d *Dir) Close() error { return d.file.Close() }

// Space returns the free space of the directory's file system.
func (d *Dir) Space() (Space, error) {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(int(d.file.Fd()), &st) }); err != nil {
		return Space{}, fmt.Errorf("ask for the free space of a workspace: %w", err)
	}
	s := Space{Dev: d.id.Dev, Bytes: int64(st.Bavail) * st.Frsize, Files: int64(st.Ffree)}
	if st.Files == 0 {
		s.Files = -1
	}
	return s, nil
}

const (
	readDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	noLinks = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV
	beneath = noLinks | unix.RESOLVE_BENEATH
)

func open(at int, name string, flags, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: flags, Resolve: resolve}
	err = retry(func() error { fd, err = unix.Openat2(at, name, &how); return err })
	return fd, err
}

// retry repeats a call as long as signals interrupt it.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func idOf(fd int) (ID, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return ID{st.Dev, st.Ino}, err
}
