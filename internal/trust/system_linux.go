package trust

import (
	"errors"

	"golang.org/x/sys/unix"
)

// rootGroups are groups whose members can become root.
var rootGroups = []uint32{0}

// hasAccessList says whether a file has a list of users and groups beside its mode. A file system without such lists has none.
func hasAccessList(path string) bool {
	_, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil || !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP)
}
