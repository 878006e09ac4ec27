package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// MayBecome returns why this process cannot start a process as the given user, or nil. Reasons are: it is not root, it
// lacks a right, or its user namespace has no such user, as in many containers.
func MayBecome(user int) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("this watcher is not root, so its programs run as its own user, %d", os.Geteuid())
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("look at the capabilities of this process: %w", err)
	}
	if need := uint32(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN); sets[0].Effective&need != need {
		return fmt.Errorf("this watcher lacks one of CAP_SETUID, CAP_SETGID and CAP_CHOWN")
	}
	for _, name := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("look at the users of this user namespace: %w", err)
		}
		if !mapped(string(text), int64(user)) {
			return fmt.Errorf("%s has no user %d: choose another range with uids", name, user)
		}
	}
	return nil
}
