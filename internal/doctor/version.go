package doctor

import (
	"fmt"
	"slices"
)

// version is a major and a minor number.
type version [2]int

// parseVersion reads the first two numbers of a text such as "6.1.0-rc2+deb12u1".
func parseVersion(text string) (v version, ok bool) {
	n, _ := fmt.Sscanf(text, "%d.%d", &v[0], &v[1])
	return v, n == len(v)
}

// before reports whether v is older than other.
func (v version) before(other version) bool { return slices.Compare(v[:], other[:]) < 0 }
