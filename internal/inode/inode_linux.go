package inode

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Of looks at an open directory.
func Of(dir *os.File) (Directory, error) {
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &system); err != nil {
		return Directory{}, fmt.Errorf("look at the file system of %s: %w", dir.Name(), err)
	}
	var info unix.Statx_t
	err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &info)
	if err != nil {
		return Directory{}, fmt.Errorf("look at %s: %w", dir.Name(), err)
	}
	found := Directory{
		FileSystem: uint64(uint32(system.Fsid.Val[0]))<<32 | uint64(uint32(system.Fsid.Val[1])),
		Inode:      info.Ino,
	}
	if info.Mask&unix.STATX_BTIME != 0 && info.Btime.Sec > 0 {
		found.Birth = time.Unix(info.Btime.Sec, int64(info.Btime.Nsec)).UnixNano()
	}
	return found, nil
}
