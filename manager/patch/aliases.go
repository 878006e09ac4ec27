package patch

import (
	"path"
	"slices"
	"strings"
)

// aliases are the links by which a path has other names: who changes scripts/env changes .envrc, where that is a link to it.
// All paths in it are folded.
type aliases struct {
	to      map[string][]string // the links, by where they lead
	targets []string            // sorted
}

// Bounds of the names that are looked for.
const (
	maxAliasing = 8   // links after each other
	maxAliases  = 256 // names of one path
)

// manyNames is what reads a path with more names than are looked at. So a child cannot hide the name that counts.
const manyNames = "perhaps something: too many links lead to it"

// aliases are those of the links that the parent has given to the child, or the child has made.
func (w *Work) aliases() aliases {
	a := aliases{to: map[string][]string{}}
	for _, t := range []tree{w.Base.tree(), w.all} {
		for p, e := range t {
			if e.Kind == Link && !path.IsAbs(e.Target) {
				a.add(fold(p), fold(path.Join(path.Dir(p), e.Target)))
			}
		}
	}
	for target := range a.to {
		a.targets = append(a.targets, target)
		slices.Sort(a.to[target])
	}
	slices.Sort(a.targets)
	return a
}

func (a aliases) add(link, target string) {
	if !isOutside(target) && link != target && !slices.Contains(a.to[target], link) {
		a.to[target] = append(a.to[target], link)
	}
}

// isOutside says whether a clean relative path leads out of the tree.
func isOutside(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }

// above is the directory of a clean relative path.
func above(p string) string {
	if at := strings.LastIndexByte(p, '/'); at >= 0 {
		return p[:at]
	}
	return "."
}

// name is a path by which something can be reached, and how it was found.
type name struct {
	path  string
	links int  // that lie on the way
	loop  bool // one of them leads to a directory that it lies in
}

// names are all paths by which a path can be reached, itself first, and whether those are all. At most one of the links on a
// way leads to a directory above it: such links would have ways without end.
func (a aliases) names(p string) (all []string, whole bool) {
	found := []name{{path: p}}
	seen := map[string]bool{p: true}
	for i := 0; i < len(found); i++ {
		all = append(all, found[i].path)
		if len(a.to) == 0 {
			break
		}
		for next := range a.through(found[i]) {
			if seen[next.path] {
				continue
			}
			if len(found) == maxAliases || next.links > maxAliasing {
				return all, false
			}
			seen[next.path] = true
			found = append(found, next)
		}
	}
	return all, true
}

// through are the names that lead to another name by one more link.
func (a aliases) through(n name) func(yield func(name) bool) {
	return func(yield func(name) bool) {
		for at := n.path; ; at = above(at) {
			for _, link := range a.to[at] {
				loop := within(link, at)
				if loop && n.loop {
					continue
				}
				next := name{path.Join(link, rest(n.path, at)), n.links + 1, n.loop || loop}
				if !yield(next) {
					return
				}
			}
			if at == "." {
				return
			}
		}
	}
}

// rest is the part of a path that lies below a directory above it.
func rest(p, dir string) string {
	if dir == "." {
		return p
	}
	return p[len(dir):]
}

// linksBelow are the links that lead to something below a path.
func (a aliases) linksBelow(p string) (links []string) {
	prefix := p + "/"
	if p == "." {
		prefix = ""
	}
	at, _ := slices.BinarySearch(a.targets, prefix)
	for ; at < len(a.targets) && strings.HasPrefix(a.targets[at], prefix); at++ {
		links = append(links, a.to[a.targets[at]]...)
	}
	return links
}

// reader says what reads a path by itself, and what reads something below it, or "".
type reader struct {
	at    func(p string) string
	below func(p string) string
	known map[string]string // what at says of links, and of all their names
}

// of says what reads a path by one of its names. Where a link was or will be, what lies below its path counts as well: the
// link decides which files those are.
func (a aliases) of(p string, isLink bool, r reader) string {
	all, whole := a.names(p)
	for _, name := range all {
		if what := r.at(name); what != "" {
			return what
		}
		if !isLink {
			continue
		}
		if what := r.below(name); what != "" {
			return what
		}
		for _, link := range a.linksBelow(name) {
			if what := a.ofLink(link, r); what != "" {
				return what
			}
		}
	}
	if !whole {
		return manyNames
	}
	return ""
}

// ofLink says what reads the path of a link. It remembers the answer.
func (a aliases) ofLink(link string, r reader) string {
	what, known := r.known[link]
	if !known {
		what = a.of(link, false, r)
		r.known[link] = what
	}
	return what
}
