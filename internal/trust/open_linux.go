package trust

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens the file or directory at a path, for lookups only, and follows no link. It makes sure that only trusted
// users can exchange it. The open handle stays the same file, whatever happens to the path.
func (r Rule) Open(path string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := openHow(path, &how)
	if errors.Is(err, unix.ELOOP) {
		if refused := r.Check(path); refused != nil {
			return nil, refused // this error names the link
		}
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(fd), path)
	if err := r.checkHeld(file, path); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func openHow(path string, how *unix.OpenHow) (int, error) {
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, how)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// checkHeld checks the path, and that it still leads to the opened file.
func (r Rule) checkHeld(file *os.File, path string) error {
	if err := r.Check(path); err != nil {
		return err
	}
	held, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(held, named) {
		return fmt.Errorf("%s was replaced while it was opened; try again", path)
	}
	return nil
}
