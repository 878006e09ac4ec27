package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// How names are looked up: only downwards, and without following any kind of link.
const (
	across  = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	beneath = across | unix.RESOLVE_NO_XDEV // and without entering another mount
)

// lookup opens a name beneath an open directory. If a signal interrupts it, it tries again.
func lookup(at int, name string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	for {
		fd, err := unix.Openat2(at, name, &how)
		if !errors.Is(err, unix.EINTR) {
			return fd, whereHidden(err)
		}
	}
}

// whereHidden explains an error that may come from something that hides openat2, and not from the caller.
func whereHidden(err error) error {
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("openat2: %w: Linux is older than 5.6, or something hides the call, as RestrictSUIDSGID of systemd and filters of containers do", err)
	}
	return err
}

// These constants bound a relative path. maxDepth also bounds how many directories a skeleton has.
const (
	maxPath  = unix.PathMax - 1
	maxDepth = 128
)

// checkRel checks the text of a relative path; it returns "" if the text is sound. A path that passes has no "..", no
// "." and no empty element.
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

// kindOf translates the kernel's answer to a lookup with beneath. For a path without "..", EXDEV can only mean a mount.
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
