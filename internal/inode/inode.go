// Package inode tells directories apart for good. A path says where a directory is mounted today, and a device number
// changes with each boot and each mount. Three things stay with a directory: the number of its file system, its inode
// and, if the file system records it, the time of its birth.
//
// statfs reports the number of a file system as f_fsid. ext4 and btrfs keep it for ever. XFS makes it from the number
// of the device, which changes when disks are found in another order, so this package makes the number of an XFS from
// its UUID. f2fs, FAT and others also make it from the device, and have no better number. A tmpfs has another number
// with each mount, and nothing on it lasts.
//
// NFS and FUSE report no number, which counts as 0. So only the inode, and the birth if they tell it, decides between
// two of their directories.
package inode

import "fmt"

// Directory is a directory's lasting identity. The zero Directory stands for no directory.
type Directory struct {
	FileSystem uint64
	Inode      uint64
	Birth      int64  // unix nanoseconds; 0 if the file system does not tell
	Boot       uint64 // the boot of the machine in which a tmpfs was seen; 0 for other file systems
}

// IsZero reports whether there is no directory.
func (d Directory) IsZero() bool { return d == Directory{} }

// Same reports whether two looks saw the same directory. If only one of them saw a birth, the birth decides nothing: an
// older kernel may not report it.
func (d Directory) Same(other Directory) bool {
	if d.IsZero() || d.FileSystem != other.FileSystem || d.Inode != other.Inode {
		return false
	}
	return d.Birth == other.Birth || d.Birth == 0 || other.Birth == 0
}

// IsGone reports whether the directory is lost for good: both it and now lay on a tmpfs, and the machine was booted
// between the two looks.
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
