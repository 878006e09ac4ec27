package trust

import (
	"errors"

	"golang.org/x/sys/unix"
)

// rootGroups are groups whose members can become root.
var rootGroups = []uint32{0}

// hasAccessList reports whether a file has a list of users and groups besides its mode. If the file system has no such
// lists, the file has none.
func hasAccessList(path string) bool {
	_, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil || !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP)
}
