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
// bytes that are returned.
func (d *Dir) Read(name string, max int64) ([]byte, Stamp, error) {
	if err := checkName(name); err != nil {
		return nil, Stamp{}, fmt.Errorf("read %w", err)
	}
	file, before, err := d.open(name, max)
	if err != nil {
		return nil, Stamp{}, fmt.Errorf("read %q: %w", name, err)
	}
	defer file.Close()
	data, err := readStable(file, before)
	if err != nil {
		return nil, Stamp{}, fmt.Errorf("read %q: %w", name, err)
	}
	return data, before, nil
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
