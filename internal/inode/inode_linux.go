package inode

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/boot"
)

// Of returns the lasting identity of an open directory.
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
	switch system.Type {
	case unix.XFS_SUPER_MAGIC:
		if found.FileSystem, err = numberOfXFS(dir); err != nil {
			return Directory{}, fmt.Errorf("look at the file system of %s: %w", dir.Name(), err)
		}
	case unix.TMPFS_MAGIC:
		found.Boot = bootNumber()
	}
	return found, nil
}

// bootNumber folds the id of this boot of the machine into a number, or returns 0 if the id is not known.
func bootNumber() uint64 {
	digits := strings.ReplaceAll(boot.Now().ID, "-", "")
	number, _ := strconv.ParseUint(digits[:min(16, len(digits))], 16, 64)
	return number
}

// geometry has the layout of the kernel's struct xfs_fsop_geom_v1.
type geometry struct {
	_    [64]byte // sizes
	uuid [16]byte
	_    [32]byte // more of them
}

// getGeometry has the value of XFS_IOC_FSGEOMETRY_V1, _IOR('X', 100, struct xfs_fsop_geom_v1).
const getGeometry = 2<<30 | unsafe.Sizeof(geometry{})<<16 | 'X'<<8 | 100

// numberOfXFS folds the UUID of a directory's XFS into a number. It opens the directory again, because the kernel
// accepts no ioctl on a descriptor that was opened with O_PATH.
func numberOfXFS(dir *os.File) (uint64, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var g geometry
	if _, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getGeometry, uintptr(unsafe.Pointer(&g))); failed != 0 {
		return 0, fmt.Errorf("ask for the UUID: %w", failed)
	}
	return binary.BigEndian.Uint64(g.uuid[:8]) ^ binary.BigEndian.Uint64(g.uuid[8:]), nil
}
