package runfile

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"torno/internal/atomicfile"
	"torno/internal/strictjson"
)

// For reports whether the file was made for the sandbox that was given this nonce.
func (f File) For(nonce string) bool {
	return subtle.ConstantTimeCompare([]byte(f.Nonce), []byte(nonce)) == 1
}

// Encode returns the file's text. It refuses a File that init would refuse.
func Encode(f File) ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("run file: has %d bytes and may have %d", len(data), MaxSize)
	}
	return data, nil
}

// Decode reverses Encode. It refuses fields that it does not know: init obeys a file as a whole or not at all.
func Decode(data []byte) (File, error) {
	if len(data) > MaxSize {
		return File{}, fmt.Errorf("run file: has %d bytes and may have %d", len(data), MaxSize)
	}
	var f File
	if err := strictjson.Decode(data, &f); err != nil {
		return File{}, fmt.Errorf("run file: %w", err)
	}
	if err := f.Validate(); err != nil {
		return File{}, fmt.Errorf("run file: %w", err)
	}
	return f, nil
}

// Write puts the file at path, in a directory that belongs to the host. It writes the whole file first, then renames it
// into place. The sandbox's uid can read the file, and no user can write it. Write does not wait for the disk: if a
// crash loses a run file, that crash has also ended its sandbox.
func Write(path string, f File) error {
	data, err := Encode(f)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, data, 0o444, atomicfile.Fast); err != nil {
		return fmt.Errorf("run file: %w", err)
	}
	return nil
}

// Read reads the file at path, for init. It takes only a regular file, opens it without following a link and without
// waiting, and reads it once.
func Read(path string) (File, error) {
	data, err := readRegular(path)
	if err != nil {
		return File{}, fmt.Errorf("run file %s: %w", path, err)
	}
	return Decode(data)
}

// ReadFilter reads the filter at path, for init, in the same way.
func ReadFilter(path string) ([]byte, error) {
	filter, err := readRegular(path)
	if err == nil {
		err = ValidateFilter(filter)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return filter, nil
}

func readRegular(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("is not a regular file")
	}
	if stat.Size > MaxSize {
		return nil, fmt.Errorf("has %d bytes and may have %d", stat.Size, MaxSize)
	}
	return readAll(fd, int(stat.Size))
}

// readAll reads to the end, but at most one byte more than the expected size. It refuses a file that grew meanwhile.
func readAll(fd, size int) ([]byte, error) {
	data := make([]byte, size+1)
	for have := 0; ; {
		n, err := unix.Read(fd, data[have:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return data[:have], nil
		}
		if have += n; have > size {
			return nil, errors.New("changed while it was read")
		}
	}
}
