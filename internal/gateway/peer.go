package gateway

import (
	"strings"

	"torno/internal/paths"
)

// listsGroup reads what the kernel says of a process: one line for each hierarchy, of which one has to be the sandbox's.
func listsGroup(groups, group string) bool {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && paths.Within(group, parts[2]) {
			return true
		}
	}
	return false
}
