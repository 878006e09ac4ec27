package sandbox

import (
	"slices"
	"strings"
)

// rootForms lists the kinds of root file systems that lie on this machine.
var rootForms = []string{"dir", "oci", "archive"}

// Place takes apart an Image that names a place on this machine: dir:/PATH is the root file system itself, oci:/PATH an
// image layout, archive:/PATH an image in one file.
func (fs RootFS) Place() (form, path string, ok bool) {
	form, path, ok = strings.Cut(fs.Image, ":")
	if !ok || !slices.Contains(rootForms, form) || !strings.HasPrefix(path, "/") {
		return "", "", false
	}
	return form, path, true
}

// Pinned reports whether the digest names the image, so that the image never changes.
func (fs RootFS) Pinned() bool { return strings.Contains(fs.Image, "@sha256:") }
