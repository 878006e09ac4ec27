package mounts

import (
	"os"

	"golang.org/x/sys/unix"
)

// memorySource marks our own in-memory file systems.
const memorySource = "torno"

func isOurMemory(info mountInfo) bool {
	return info.kind == "tmpfs" && info.source == memorySource && info.root == "/"
}

// newMemory returns a detached mount of a new, empty file system in memory. Only our own user may enter it.
func newMemory() (*os.File, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	for key, value := range map[string]string{"source": memorySource, "mode": "0700"} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return nil, os.NewSyscallError("fsconfig", err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, os.NewSyscallError("fsconfig", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	return os.NewFile(uintptr(mount), "detached mount"), nil
}
