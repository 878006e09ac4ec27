package sandbox

import (
	"slices"
	"strings"
)

// rootForms are the kinds of root file systems that lie on this machine.
var rootForms = []string{"dir", "oci", "archive"}

// Place takes an Image apart that is a place on this machine: dir:/PATH is the root file system itself, oci:/PATH an image
// layout, archive:/PATH an image in one file.
func (fs RootFS) Place() (form, path string, ok bool) {
	form, path, ok = strings.Cut(fs.Image, ":")
	if !ok || !slices.Contains(rootForms, form) || !strings.HasPrefix(path, "/") {
		return "", "", false
	}
	return form, path, true
}

// Pinned says whether an image is named by its digest, so that it is the same for ever.
func (fs RootFS) Pinned() bool { return strings.Contains(fs.Image, "@sha256:") }
