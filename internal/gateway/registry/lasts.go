package registry

import "regexp"

// release is a file of one version in the Go module proxy's protocol. A version that is no release, such as a branch, may become another
// one; that of a release, and of a pseudo-version, stays what it is.
var release = regexp.MustCompile(`/@v/v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+incompatible)?\.(info|mod|zip)$`)

// Lasts says whether what lies at a path never changes, though the registry says no digest of it.
func Lasts(kind, path string) bool { return kind == GoProxy && release.MatchString(path) }
