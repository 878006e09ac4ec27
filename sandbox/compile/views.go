package compile

import (
	"path"

	"torno/internal/paths"
)

// here is how the watcher sees a path that its parent named.
func (p Policy) here(parent string) string {
	m, rel := longest(p.Paths, parent, func(m PathMap) string { return m.Parent })
	return path.Join(m.here(), rel)
}

// engine is how the engine sees a path of the watcher's.
func (p Policy) engine(here string) string {
	m, rel := longest(p.Paths, here, PathMap.here)
	return path.Join(m.engine(), rel)
}

// longest finds the map whose side holds the path and is the longest, and the path's rest below it. When none does, the
// rest is the path itself.
func longest(maps []PathMap, p string, side func(PathMap) string) (PathMap, string) {
	var best PathMap
	rest := p
	for _, m := range maps {
		rel, ok := paths.Below(side(m), p)
		if ok && len(side(m)) > len(side(best)) {
			best, rest = m, rel
		}
	}
	return best, rest
}

// outermost returns the root that holds the path, the shortest of several: the more of the way is walked beneath a held
// handle, the better.
func outermost(roots []Root, here string) (string, bool) {
	best, found := "", false
	for _, root := range roots {
		if paths.Within(string(root), here) && (!found || len(root) < len(best)) {
			best, found = string(root), true
		}
	}
	return best, found
}
