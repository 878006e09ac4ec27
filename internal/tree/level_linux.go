package tree

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// level is a directory on the way from the root of a walk to its current place. Only the lowest levels are open. The
// others are put away; the walk finds them again through "..", if that still leads to the same directory.
type level struct {
	name string
	id   ID
	fd   int    // -1 while it is put away
	page []byte // as the kernel filled it; nil while it is put away
	rest []byte // the unread part of the page
	next int64  // where the directory continues after the names that were read
}

// pageSize is the number of bytes that one read of a directory asks for.
const pageSize = 8 << 10

// read returns the next name, or "" at the end.
func (l *level) read() (name string, err error) {
	for {
		if len(l.rest) == 0 {
			n := 0
			err := retry(func() error { n, err = unix.ReadDirent(l.fd, l.page); return err })
			if err != nil || n == 0 {
				return "", err
			}
			l.rest = l.page[:n]
		}
		if name, err = l.take(); err != nil || name != "." && name != ".." {
			return name, err
		}
	}
}

// Offsets of the used fields in a linux_dirent64.
const (
	direntNext   = 8
	direntLength = 16
	direntName   = 19
)

func (l *level) take() (name string, err error) {
	if len(l.rest) < direntName {
		return "", errDirent
	}
	length := int(binary.NativeEndian.Uint16(l.rest[direntLength:]))
	if length <= direntName || length > len(l.rest) {
		return "", errDirent
	}
	entry := l.rest[:length]
	l.rest, l.next = l.rest[length:], int64(binary.NativeEndian.Uint64(entry[direntNext:]))
	raw := entry[direntName:]
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	if len(raw) == 0 {
		return "", errDirent // an empty name would look like the end
	}
	return string(raw), nil
}

var errDirent = fmt.Errorf("the kernel's listing of a directory is malformed: %w", unix.EIO)

// findAgain reopens a directory that was put away, as the parent of below, and continues its listing. It reports
// whether the parent is still the same directory.
func (l *level) findAgain(below *level, page []byte) bool {
	fd, err := open(below.fd, "..", readDir, noLinks)
	if err != nil {
		return false
	}
	if id, err := idOf(fd); err == nil && id == l.id {
		if _, err := unix.Seek(fd, l.next, unix.SEEK_SET); err == nil {
			l.fd, l.page = fd, page
			return true
		}
	}
	unix.Close(fd)
	return false
}
