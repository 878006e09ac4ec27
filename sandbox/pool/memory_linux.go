package pool

import (
	"os"
	"strconv"
	"strings"
)

// MachineMemory returns the machine's total memory in bytes, and the part that is free or can be freed at once. A
// number that is not known is 0.
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
		kib, _ := strconv.ParseInt(fields[1], 10, 64) // written by the kernel, so never malformed
		switch fields[0] {
		case "MemTotal:":
			total = kib << 10
		case "MemAvailable:":
			free = kib << 10
		}
	}
	return total, free
}
