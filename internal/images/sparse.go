package images

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// bufferSize is how much of a file is in memory while write copies it.
const bufferSize = 256 << 10

// zeros is a block of zero bytes.
var zeros [blockSize]byte

// write fills a new file. It leaves out blocks of zeros, so they become holes, which the system reads as zeros. It
// returns the size of the file, and counts only the bytes that reach the disk against the room.
func (u *unpacker) write(file *os.File, content io.Reader) (size int64, err error) {
	if u.buffer == nil {
		u.buffer = make([]byte, bufferSize)
	}
	for !errors.Is(err, io.EOF) {
		var n int
		if n, err = fill(content, u.buffer); err != nil && !errors.Is(err, io.EOF) {
			return size, err
		}
		if broken := errors.Join(u.work.spend(0), u.writeBlocks(file, u.buffer[:n], size)); broken != nil {
			return size, broken
		}
		size += int64(n)
	}
	return size, file.Truncate(size)
}

// fill reads until the buffer is full or the content ends. It returns io.EOF when the content is at its end.
func fill(content io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = content.Read(buffer[n:])
		n += more
	}
	return n, err
}

// writeBlocks writes the blocks that are not all zeros.
func (u *unpacker) writeBlocks(file *os.File, data []byte, at int64) error {
	for len(data) > 0 {
		hole := spanOf(data, true)
		data, at = data[hole:], at+int64(hole)
		full := spanOf(data, false)
		if err := u.room.take(int64(full)); err != nil {
			return err
		}
		if _, err := file.WriteAt(data[:full], at); err != nil {
			return err
		}
		u.facts.Disk += (int64(full) + blockSize - 1) / blockSize * blockSize
		data, at = data[full:], at+int64(full)
	}
	return nil
}

// spanOf counts the bytes at the beginning of data that are blocks of zeros, or, if zero is false, blocks with other
// content.
func spanOf(data []byte, zero bool) (n int) {
	for n < len(data) {
		end := min(n+blockSize, len(data))
		if bytes.Equal(data[n:end], zeros[:end-n]) != zero {
			break
		}
		n = end
	}
	return n
}
