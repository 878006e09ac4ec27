package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// How names are looked up: downwards, without a link of any kind.
const (
	across  = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	beneath = across | unix.RESOLVE_NO_XDEV // and without entering another mount
)

// lookup opens a name beneath a directory that is held. A signal may interrupt it.
func lookup(at int, name string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	for {
		fd, err := unix.Openat2(at, name, &how)
		if !errors.Is(err, unix.EINTR) {
			return fd, whereHidden(err)
		}
	}
}

// whereHidden explains an error that may come from a hidden openat2 rather than from the caller.
func whereHidden(err error) error {
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("openat2: %w: Linux is older than 5.6, or something hides the call, as RestrictSUIDSGID of systemd and filters of containers do", err)
	}
	return err
}

// Bounds of a relative path. The depth bounds how many directories a skeleton has.
const (
	maxPath  = unix.PathMax - 1
	maxDepth = 128
)

// checkRel says what is wrong with a relative path as text. A path that passes has no "..", no "." and no empty element.
func checkRel(rel string) Kind {
	switch {
	case rel == ".." || strings.HasPrefix(rel, "../") || strings.HasPrefix(rel, "/"),
		strings.Contains(rel, "/../") || strings.HasSuffix(rel, "/.."):
		return KindEscapes
	case len(rel) > maxPath, strings.ContainsRune(rel, 0), !fs.ValidPath(rel), strings.Count(rel, "/") >= maxDepth:
		return KindInvalid
	}
	return ""
}

// kindOf reads the kernel's answer to a lookup with beneath. A path without ".." meets EXDEV only at a mount.
func kindOf(err error) Kind {
	switch {
	case errors.Is(err, unix.ENOENT):
		return KindMissing
	case errors.Is(err, unix.ELOOP):
		return KindLink
	case errors.Is(err, unix.ENOTDIR):
		return KindNotDir
	case errors.Is(err, unix.EXDEV):
		return KindMountpoint
	case errors.Is(err, unix.ENAMETOOLONG):
		return KindInvalid
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return KindDenied
	}
	return ""
}
