package patch

import (
	"os"

	"torno/internal/inode"
)

// identityOf returns the identity that a directory keeps and that no other directory at its path has. On some systems
// that is only a device and an inode.
func identityOf(dir *os.Root) (inode.Directory, error) {
	f, err := dir.Open(".")
	if err != nil {
		return inode.Directory{}, err
	}
	defer f.Close()
	if found, err := inode.Of(f); err == nil {
		return found, nil
	}
	info, err := f.Stat()
	if err != nil {
		return inode.Directory{}, err
	}
	return inode.Directory{FileSystem: deviceOf(info), Inode: inodeOf(info)}, nil
}
