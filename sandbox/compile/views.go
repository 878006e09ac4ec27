package compile

import (
	"fmt"
	"path"
	"strings"

	"torno/internal/paths"
)

// here returns the watcher's view of a path that its parent named.
func (p Policy) here(parent string) string {
	m, rel := longest(p.Paths, parent, func(m PathMap) string { return m.Parent })
	return path.Join(m.here(), rel)
}

// Views returns the roots for workspaces and the roots for context, as the parent sees them. A root inside the outbox
// is relative to the outbox, because this package does not know the outbox's path in the parent's container.
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

// namedRoots is the most roots that a refusal names.
const namedRoots = 5

// advice returns the next step for a path that lies below none of the roots.
func (c *compiler) advice(views []string, ask, may string) string {
	if len(views) == 0 {
		return "outbox " + c.policy.Outbox + " " + may + " no directory; ask the operator to add one"
	}
	return ask + named(views) + ", which outbox " + c.policy.Outbox + " " + may
}

// named returns the text for views of roots in a refusal. Parents read the same views in watcher.json.
func named(views []string) string {
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

// engine returns the engine's view of a path of the watcher.
func (p Policy) engine(here string) string {
	m, rel := longest(p.Paths, here, PathMap.here)
	return path.Join(m.engine(), rel)
}

// longest returns the map whose side is the longest path that holds p, and the rest of p below it. If no map's side
// holds p, the rest is p itself.
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

// outermost returns the shortest root that holds the path. The shorter the root, the more of the path is walked beneath
// a held handle, and that is the better way.
func outermost(roots []Root, here string) (string, bool) {
	best, found := "", false
	for _, root := range roots {
		if paths.Within(string(root), here) && (!found || len(root) < len(best)) {
			best, found = string(root), true
		}
	}
	return best, found
}
