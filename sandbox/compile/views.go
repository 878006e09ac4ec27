package compile

import (
	"fmt"
	"path"
	"strings"

	"torno/internal/paths"
)

// here is how the watcher sees a path that its parent named.
func (p Policy) here(parent string) string {
	m, rel := longest(p.Paths, parent, func(m PathMap) string { return m.Parent })
	return path.Join(m.here(), rel)
}

// Views are the roots for workspaces and for context as the parent sees them, relative to the outbox where they lie in it: which path
// an outbox has in the parent's container is not known here.
func (p Policy) Views() (workspaces, context []string) {
	view := func(roots []Root) (all []string) {
		for _, root := range roots {
			if rel, ok := paths.Below(p.Dir, string(root)); ok {
				all = append(all, rel)
				continue
			}
			m, rel := longest(p.Paths, string(root), PathMap.here)
			all = append(all, path.Join(m.Parent, rel))
		}
		return all
	}
	context = view(p.Read)
	if !p.StrictRead {
		context = append(view(p.Allow), context...)
	}
	return view(p.Allow), context
}

// namedRoots is how many roots a refusal names.
const namedRoots = 5

// named are views of roots as a refusal names them. Parents read the same in watcher.json.
func named(views []string) string {
	if len(views) == 0 {
		return "a root, of which there is none"
	}
	var all []string
	for _, view := range views[:min(len(views), namedRoots)] {
		text := shown(view)
		if !path.IsAbs(view) {
			text += " in the outbox"
		}
		all = append(all, text)
	}
	if more := len(views) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("one of %d more", more))
	}
	return strings.Join(all, " or ")
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
