//go:build linux

package initproc

import (
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// memoryCounts lists files of the sandbox's control group. In them the kernel counts the processes that it has killed
// for memory; runtimes show them read-only. The first file is of version 1 of control groups, the second of version 2.
var memoryCounts = []string{"/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"}

// seeMemory returns whether the kernel has killed anything for memory, as far as init sees its control group.
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
