package delegation

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Read reads one entry as hostile: it must be a regular file with one name and at most max bytes, and must not change
// while it is read. Nothing else is ever opened, no link is followed, and nothing blocks. The stamp is of exactly the
// bytes that are returned, or of the entry that the error speaks of.
func (d *Dir) Read(name string, max int64) ([]byte, Stamp, error) {
	if err := checkName(name); err != nil {
		return nil, Stamp{}, fmt.Errorf("read %w", err)
	}
	file, before, err := d.open(name, max)
	if err != nil {
		return nil, before, fmt.Errorf("read %q: %w", name, err)
	}
	defer file.Close()
	data, err := readStable(file, before)
	if err == nil {
		err = d.stillNamed(name, before)
	}
	if err != nil {
		return nil, Stamp{}, fmt.Errorf("read %q: %w", name, err)
	}
	return data, before, nil
}

// stillNamed makes sure that the one name of what was read is this one. A file with two names may have lost this one between its
// opening and the look at it: the name that is left is then another's. A removal counts the names down before it takes the name
// out of the kernel's cache, so the look comes after every removal that has begun.
func (d *Dir) stillNamed(name string, read Stamp) error {
	if err := d.awaitRemovals(); err != nil {
		return err
	}
	var st unix.Stat_t
	err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || err == nil && !stampOf(&st).same(read) {
		return ErrChanged
	}
	return err
}

// awaitRemovals returns when no removal from the directory is under way that had begun before: the kernel lists a directory and
// changes it in turn.
func (d *Dir) awaitRemovals() error {
	fd, err := unix.Openat(d.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var entry [512]byte
	_, _ = unix.ReadDirent(fd, entry[:]) // what it lists does not matter
	return nil
}

// readStable reads all of a file and makes sure that it stayed what it was. Of a file that grows meanwhile it takes one
// byte more than was seen.
func readStable(file *os.File, before Stamp) ([]byte, error) {
	data := make([]byte, before.Size+1)
	n, err := io.ReadFull(file, data)
	if err == nil {
		return nil, ErrChanged
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if err := stillSame(file, before, int64(n)); err != nil {
		return nil, err
	}
	return data[:n], nil
}

func stillSame(file *os.File, before Stamp, size int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	if size != before.Size || !stampOf(&st).same(before) {
		return ErrChanged
	}
	return nil
}
