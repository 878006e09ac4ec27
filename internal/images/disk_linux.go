package images

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// toDisk writes out the file system on which a file lies, so that a name never appears before what is behind it.
func toDisk(file *os.File) error {
	if err := unix.Syncfs(int(file.Fd())); err != nil {
		return fmt.Errorf("write an image to the disk: %w", err)
	}
	return nil
}
