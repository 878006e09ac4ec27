package doctor

import (
	"math"
	"regexp"
	"slices"
	"strconv"
)

// version is major, minor, patch and the number of the release candidate, which for a release is over all others.
type version [4]int

// released is the last number of a version that is no release candidate.
const released = math.MaxInt

var (
	versionForm = regexp.MustCompile(`^(?:\d+:)?v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-~.]?rc[.]?(\d+))?(.*)$`)
	describeTag = regexp.MustCompile(`^-\d+-g[0-9a-f]{7,40}$`)
)

// parseVersion reads "1.1.5+ds1-1+deb12u1" and the like. What follows the number is returned as it is.
func parseVersion(text string) (v version, rest string, ok bool) {
	found := versionForm.FindStringSubmatch(text)
	if found == nil {
		return v, "", false
	}
	v[3] = released
	for i, digits := range found[1:5] {
		n, err := strconv.Atoi(digits)
		if digits != "" && err != nil {
			return v, "", false
		}
		if digits != "" {
			v[i] = n
		}
	}
	return v, found[5], true
}

// has says whether a version is on a branch that has a fix, or on a later one. The fixes are one for each branch, the
// newest last.
func (v version) has(fixes []version) bool {
	if slices.Compare(v[:], fixes[len(fixes)-1][:]) >= 0 {
		return true
	}
	return slices.ContainsFunc(fixes, func(fix version) bool {
		return v[0] == fix[0] && v[1] == fix[1] && slices.Compare(v[:], fix[:]) >= 0
	})
}
