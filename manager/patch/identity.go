package patch

import (
	"os"

	"torno/internal/inode"
)

// identityOf is what stays with a directory, and another one at its path has not. Some systems tell no more than a device and
// an inode.
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
