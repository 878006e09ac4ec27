package process

import (
	"fmt"
	"strings"
)

// mapped reports whether a user is in a map of users (the form of /proc/self/uid_map).
func mapped(text string, user int64) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count int64
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && user >= inside && user-inside < count {
			return true
		}
	}
	return false
}
