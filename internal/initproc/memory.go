//go:build linux

package initproc

import (
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// The kernel's count of what it has killed for memory in the sandbox's control group, which runtimes show read-only: in version 1, and
// in version 2.
var memoryCounts = []string{"/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"}

// seeMemory says whether anything was killed for memory, as far as init sees its control group.
func seeMemory() runfile.Memory {
	for _, file := range memoryCounts {
		fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var text [4096]byte
		n, err := unix.Read(fd, text[:])
		unix.Close(fd)
		if err == nil {
			return memoryIn(string(text[:n]))
		}
	}
	return runfile.MemoryUnknown
}

func memoryIn(text string) runfile.Memory {
	for line := range strings.Lines(text) {
		switch count, ok := strings.CutPrefix(line, "oom_kill "); {
		case ok && strings.TrimSpace(count) == "0":
			return runfile.MemoryHeld
		case ok:
			return runfile.MemoryKilled
		}
	}
	return runfile.MemoryUnknown
}
