package gateway

import (
	"strings"

	"torno/internal/paths"
)

// listsGroup reports whether a process is in a control group. groups is the kernel's text: a line for each hierarchy,
// and one line has to match.
func listsGroup(groups, group string) bool {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && paths.Within(group, parts[2]) {
			return true
		}
	}
	return false
}
