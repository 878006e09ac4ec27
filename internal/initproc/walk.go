//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/paths"
)

const handle = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openRoot returns a handle on the sandbox's root directory.
func openRoot() (int, error) {
	return unix.Open("/", handle|unix.O_DIRECTORY, 0)
}

// openDir opens the directory at rel, a clean relative path without "..", beneath the handle at. Every component must
// be a directory. With create, openDir makes the missing ones.
func openDir(at int, rel string, create bool) (int, error) {
	fd, err := unix.Openat(at, ".", handle|unix.O_DIRECTORY, 0)
	if err != nil || rel == "." {
		return fd, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := step(fd, name, create)
		unix.Close(fd)
		if err != nil {
			return -1, fmt.Errorf("%q: %w", name, err)
		}
		fd = next
	}
	return fd, nil
}

func step(at int, name string, create bool) (int, error) {
	fd, err := unix.Openat(at, name, handle|unix.O_DIRECTORY, 0)
	if create && errors.Is(err, unix.ENOENT) {
		if err := unix.Mkdirat(at, name, 0o777); err != nil && !errors.Is(err, unix.EEXIST) {
			return -1, err
		}
		fd, err = unix.Openat(at, name, handle|unix.O_DIRECTORY, 0)
	}
	return fd, err
}

// openPath opens the clean absolute path from the root. The last component may be anything; if it is a link, openPath
// opens the link itself.
func openPath(name string) (int, error) {
	root, err := openRoot()
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	dir, err := openDir(root, below("/", path.Dir(name)), false)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return unix.Openat(dir, below(path.Dir(name), name), handle, 0)
}

// below returns name as seen from dir, which holds it. Both are clean and absolute.
func below(dir, name string) string {
	rel, _ := paths.Below(dir, name)
	return rel
}
