package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks bounds how many links a path may lead through, as the kernel does.
const maxLinks = 40

// OpenTrustedDir opens a directory of the operator's for lookups, as OpenBases does. path is absolute.
func OpenTrustedDir(path string) (*os.File, error) { return openTrusted(path) }

// openTrusted opens a directory of the operator's, step by step. It follows only links that belong to root or to us. A
// root may lie in the home of the user whose agents use it. A link of this user could lead to a directory that is
// closed to the user, and the user's sandbox would then enter it with the rights of the directory's owner.
func openTrusted(path string) (*os.File, error) {
	left, links := elements(path), 0
	var at *os.File
	for len(left) > 0 {
		next, link, err := stepOrLink(at, left[0])
		if link != "" {
			if links++; links > maxLinks {
				err = unix.ELOOP
			}
		}
		if err != nil {
			closeIf(at)
			return nil, &fs.PathError{Op: "open root", Path: path, Err: err}
		}
		left = append(elements(link), left[1:]...)
		if next != nil {
			closeIf(at)
			at = next
		}
	}
	return at, nil
}

// elements splits a path. The first element of an absolute path is the root, "/".
func elements(path string) []string {
	names := strings.Split(path, "/")
	if strings.HasPrefix(path, "/") {
		names[0] = "/"
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// stepOrLink opens the directory name in at. If name is a link, it returns the link's target instead.
func stepOrLink(at *os.File, name string) (next *os.File, link string, err error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	in := unix.AT_FDCWD
	if at != nil {
		in = int(at.Fd())
	}
	fd, err := unix.Openat(in, name, flags|unix.O_DIRECTORY, 0)
	if err == nil {
		return os.NewFile(uintptr(fd), name), "", nil
	}
	if !errors.Is(err, unix.ENOTDIR) || at == nil {
		return nil, "", err
	}
	if fd, err = unix.Openat(in, name, flags, 0); err != nil {
		return nil, "", err
	}
	defer unix.Close(fd)
	link, err = readTrusted(in, fd, name)
	return nil, link, err
}

// readTrusted reads the link fd in the directory at. Both must belong to root or to us: another owner of the directory
// could replace the link with a different link of root's.
func readTrusted(at, fd int, name string) (string, error) {
	var around, link unix.Stat_t
	if err := errors.Join(unix.Fstat(at, &around), unix.Fstat(fd, &link)); err != nil {
		return "", err
	}
	if link.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", unix.ENOTDIR
	}
	for _, uid := range []uint32{around.Uid, link.Uid} {
		if uid != 0 && uid != uint32(os.Geteuid()) {
			return "", fmt.Errorf("another user, %d, decides where the link %q leads; name the place itself", uid, name)
		}
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", target)
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(target[:max(n, 0)]), err
}

func closeIf(f *os.File) {
	if f != nil {
		f.Close()
	}
}
