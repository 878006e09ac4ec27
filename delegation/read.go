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
	data, err := readStable(file, before, max)
	if err != nil {
		return nil, Stamp{}, fmt.Errorf("read %q: %w", name, err)
	}
	return data, before, nil
}

// readStable reads all of a file and makes sure that it stayed what it was.
func readStable(file *os.File, before Stamp, max int64) ([]byte, error) {
	data := make([]byte, 0, before.Size+1)
	for {
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, stillSame(file, before, int64(len(data)))
		case err != nil:
			return nil, err
		case int64(len(data)) > max:
			return nil, ErrTooBig
		case int64(len(data)) > before.Size:
			return nil, ErrChanged
		}
	}
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

// acceptable says whether an entry may be opened at all.
func acceptable(s Stamp, max int64) error {
	switch {
	case !s.Mode.IsRegular():
		return fmt.Errorf("%w (%s)", ErrNotRegular, s.Mode.Type())
	case s.Links > 1:
		return ErrLinked
	case s.Size > max:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooBig, s.Size, max)
	}
	return nil
}
