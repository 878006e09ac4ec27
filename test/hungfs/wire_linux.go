package hungfs

import (
	"bytes"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// The requests of the kernel that matter here, as linux/fuse.h numbers them.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opStatfs      = 17
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opInterrupt   = 36
	opBatchForget = 42
)

const (
	headerSize = 40
	rootNode   = 1
	firstDir   = 2   // nodes of the directories below the root
	firstFile  = 100 // nodes of files
)

// request is one request of the kernel.
type request struct {
	op     uint32
	unique uint64
	node   uint64
	body   []byte
}

var order = binary.NativeEndian

func parse(data []byte) (request, bool) {
	if len(data) < headerSize {
		return request{}, false
	}
	return request{
		op: order.Uint32(data[4:]), unique: order.Uint64(data[8:]), node: order.Uint64(data[16:]), body: data[headerSize:],
	}, true
}

// answer is what the kernel gets for a request.
func (s *server) answer(req request) []byte {
	var body []byte
	var errno unix.Errno
	switch req.op {
	case opInit:
		body = make([]byte, 64)
		order.PutUint32(body[0:], 7)
		order.PutUint32(body[4:], 31)
		order.PutUint32(body[20:], 1<<16) // the longest write
	case opLookup:
		if node := s.find(req.node, string(bytes.TrimRight(req.body, "\x00"))); node != 0 {
			entry := make([]byte, 40) // no time for which the kernel may remember it
			order.PutUint64(entry, node)
			body = slices.Concat(entry, attributes(node))
		} else {
			errno = unix.ENOENT
		}
	case opGetattr:
		body = append(make([]byte, 16, 104), attributes(req.node)...)
	case opStatfs:
		body = make([]byte, 80)
		for i := range 3 {
			order.PutUint64(body[8*i:], 1<<30) // blocks: all, free, and free for users
		}
		order.PutUint32(body[40:], 4096)
		order.PutUint32(body[44:], 255)
		order.PutUint32(body[48:], 4096)
	case opOpendir:
		body = make([]byte, 16)
	case opReaddir:
		body = s.list(req.node, order.Uint64(req.body[8:]))
	case opReleasedir:
	default:
		errno = unix.ENOSYS
	}
	out := make([]byte, 16, 16+len(body))
	order.PutUint32(out, uint32(16+len(body)))
	order.PutUint32(out[4:], uint32(-int32(errno)))
	order.PutUint64(out[8:], req.unique)
	return append(out, body...)
}

// find is the node of a name in a directory, or 0.
func (s *server) find(dir uint64, name string) uint64 {
	names, first := s.names(dir)
	if i := slices.Index(names, name); i >= 0 {
		return first + uint64(i)
	}
	return 0
}

// names are those in a directory, and first the node of the first of them.
func (s *server) names(dir uint64) (names []string, first uint64) {
	switch {
	case dir == rootNode:
		return s.dirs, firstDir
	case dir < firstFile:
		for i := range Files {
			names = append(names, "file"+string(rune('0'+i)))
		}
		return names, firstFile + Files*dir
	}
	return nil, 0
}

// attributes are those of a node, in the kernel's layout.
func attributes(node uint64) []byte {
	attr := make([]byte, 88)
	mode := uint32(unix.S_IFDIR | 0o755)
	if node >= firstFile {
		mode = unix.S_IFREG | 0o644
	}
	order.PutUint64(attr, node)
	order.PutUint32(attr[60:], mode)
	order.PutUint32(attr[64:], 1) // names
	order.PutUint32(attr[80:], 4096)
	return attr
}

// list is what a directory holds after an offset.
func (s *server) list(dir, offset uint64) (out []byte) {
	names, first := s.names(dir)
	for i := int(min(offset, uint64(len(names)))); i < len(names); i++ {
		out = order.AppendUint64(out, first+uint64(i))
		out = order.AppendUint64(out, uint64(i+1))
		out = order.AppendUint32(out, uint32(len(names[i])))
		out = order.AppendUint32(out, 0) // of an unknown type
		out = append(out, names[i]...)
		out = append(out, make([]byte, (8-len(names[i])%8)%8)...)
	}
	return out
}
