package doctor

import (
	"fmt"
	"slices"
)

// version is major and minor.
type version [2]int

// parseVersion reads the beginning of "6.1.0-rc2+deb12u1" and the like.
func parseVersion(text string) (v version, ok bool) {
	n, _ := fmt.Sscanf(text, "%d.%d", &v[0], &v[1])
	return v, n == len(v)
}

// before says whether a version is older than another one.
func (v version) before(other version) bool { return slices.Compare(v[:], other[:]) < 0 }
