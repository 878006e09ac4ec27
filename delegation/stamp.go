package delegation

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp holds the facts that the file system reports about an entry itself, never about the target of a link.
type Stamp struct {
	Dev, Ino   uint64
	Size       int64
	ModTime    time.Time
	ChangeTime time.Time
	Mode       fs.FileMode
	Links      uint64
}

// SentinelCounts reports whether a sentinel that names no request is meant for this request. The caller asks when the
// host sees both for the first time, so that it does not know which came first. A sentinel older than the request was
// meant for the request before; any other sentinel counts. Only the kernel's own times decide, because no process can
// set them. If one of them lies in the future, the clock was put back; then the times tell nothing and the sentinel
// counts.
func SentinelCounts(request, sentinel Stamp, now time.Time) bool {
	ahead := request.ChangeTime.After(now) || sentinel.ChangeTime.After(now)
	return sentinel.Mode.IsRegular() && (ahead || !sentinel.ChangeTime.Before(request.ChangeTime))
}

// same reports whether two stamps show one file with the same content, as far as the file system can tell.
func (s Stamp) same(other Stamp) bool {
	return s.Dev == other.Dev && s.Ino == other.Ino && s.Size == other.Size && s.Mode == other.Mode &&
		s.Links == other.Links && s.ModTime.Equal(other.ModTime) && s.ChangeTime.Equal(other.ChangeTime)
}

// stampOf converts a Stat_t into a Stamp. It converts each number because the widths of the fields differ among
// systems.
func stampOf(st *unix.Stat_t) Stamp {
	return Stamp{
		Dev:        uint64(st.Dev),
		Ino:        uint64(st.Ino),
		Size:       st.Size,
		ModTime:    time.Unix(st.Mtim.Unix()),
		ChangeTime: time.Unix(st.Ctim.Unix()),
		Mode:       fileMode(uint32(st.Mode)),
		Links:      uint64(st.Nlink),
	}
}

func fileMode(mode uint32) fs.FileMode {
	result := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		result |= fs.ModeDir
	case unix.S_IFLNK:
		result |= fs.ModeSymlink
	case unix.S_IFIFO:
		result |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		result |= fs.ModeSocket
	case unix.S_IFCHR:
		result |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		result |= fs.ModeDevice
	default:
		result |= fs.ModeIrregular
	}
	return result
}
