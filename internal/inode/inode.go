// Package inode tells directories apart for good. A path says where a directory is mounted today; a device number changes with
// each boot and each mount. What stays with a directory is the number of its file system, its inode and, where the file
// system notes it, the time of its birth.
//
// The number of a file system is what statfs calls f_fsid. ext4 and btrfs keep it for ever. XFS makes it from the number of the device, which
// changes when disks are found in another order, so its number is made from its UUID; f2fs, FAT and others do so too, and have no better one. A
// tmpfs has another number with each mount, and nothing of it lasts.
//
// NFS and FUSE tell none, which is 0, and so the inode alone decides between two of their directories.
package inode

import "fmt"

// Directory is a directory's lasting identity. The zero Directory is none.
type Directory struct {
	FileSystem uint64
	Inode      uint64
	Birth      int64  // unix nanoseconds; 0 where the file system does not tell
	Boot       uint64 // of the machine, in which a tmpfs was seen; 0 for another file system
}

// IsZero says that there is no directory.
func (d Directory) IsZero() bool { return d == Directory{} }

// Same says whether two looks saw the same directory. A birth that only one of them saw decides nothing: an older kernel may
// not tell it.
func (d Directory) Same(other Directory) bool {
	if d.IsZero() || d.FileSystem != other.FileSystem || d.Inode != other.Inode {
		return false
	}
	return d.Birth == other.Birth || d.Birth == 0 || other.Birth == 0
}

// IsGone reports whether a directory cannot come back: it lay on a tmpfs, and now, which lies on one too, was seen after another boot.
func (d Directory) IsGone(now Directory) bool {
	return d.Boot != 0 && now.Boot != 0 && d.Boot != now.Boot
}

// OnFileSystemOf reports whether two directories lie on one file system.
func (d Directory) OnFileSystemOf(other Directory) bool {
	return d.FileSystem != 0 && d.FileSystem == other.FileSystem
}

func (d Directory) String() string {
	return fmt.Sprintf("file system %x, inode %d", d.FileSystem, d.Inode)
}
