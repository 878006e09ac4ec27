//go:build !linux

package doctor

// LookAtRoots returns an error for each root, because it needs Linux.
func LookAtRoots(paths []string, _ bool) (all []Root) {
	for _, path := range paths {
		all = append(all, Root{Path: path, Error: "this needs Linux"})
	}
	return all
}
