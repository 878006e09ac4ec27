package images

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// toDisk writes out the file system that holds the file, so that a name never reaches the disk before its content.
func toDisk(file *os.File) error {
	if err := unix.Syncfs(int(file.Fd())); err != nil {
		return fmt.Errorf("write an image to the disk: %w", err)
	}
	return nil
}

// freeOn returns the free space on the file system of a directory. files is -1 if the file system does not count files.
func freeOn(dir *os.File) (bytes, files int64, err error) {
	var st unix.Statfs_t
	for {
		err = unix.Fstatfs(int(dir.Fd()), &st)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if st.Files == 0 {
		return int64(st.Bavail) * st.Frsize, -1, err
	}
	return int64(st.Bavail) * st.Frsize, int64(st.Ffree), err
}

// again returns a name under which the open file can be opened once more.
func again(held *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", held.Fd()) }
