package registry

import "regexp"

// release matches a file of one version in the Go module proxy's protocol. A version such as a branch may later mean
// other code. A release or a pseudo-version never changes.
var release = regexp.MustCompile(`/@v/v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+incompatible)?\.(info|mod|zip)$`)

// Lasts reports whether the file at a path never changes, although the registry tells no digest for it.
func Lasts(kind, path string) bool { return kind == GoProxy && release.MatchString(path) }
