package delegation

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Read reads one entry as hostile. The entry must be a regular file with one name and at most max bytes, and must not
// change while Read reads it. Read opens nothing else, follows no link and never blocks. The stamp describes exactly
// the returned bytes, or the entry that the error is about.
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

// stillNamed makes sure that name is still the one name of the file that was read. The file may have had two names, and
// may have lost this name after Read opened it and before Read counted its names. Then the name that is left is a
// different name. When the kernel removes a name, it lowers the count before it drops the name from its cache, so
// stillNamed first waits for every removal that has begun.
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

// awaitRemovals returns when every removal from the directory that had already begun is over. It lists the directory,
// because the kernel does not list and change a directory at the same time.
func (d *Dir) awaitRemovals() error {
	fd, err := unix.Openat(d.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var entry [512]byte
	_, _ = unix.ReadDirent(fd, entry[:]) // the listing itself does not matter
	return nil
}

// readStable reads all of a file and makes sure that the file did not change. If the file grows meanwhile, it reads one
// byte more than the size that was seen, no more.
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
