package pool

import (
	"os"
	"strconv"
	"strings"
)

// MachineMemory is what the machine has in bytes, and what is free of it or can be had at once. 0 where that is not known.
func MachineMemory() (total, free int64) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel's
		switch fields[0] {
		case "MemTotal:":
			total = kib << 10
		case "MemAvailable:":
			free = kib << 10
		}
	}
	return total, free
}
