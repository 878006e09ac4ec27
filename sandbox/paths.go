package sandbox

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
)

// What Linux takes, without the byte that ends a path.
const (
	maxPath      = 4095
	maxComponent = 255
)

// TidyPath gives the one spelling of a path that a stranger wrote: no empty component, no ".", no slash at the end. A
// path that climbs is refused and never cleaned, since what ".." means depends on links that nobody has looked at yet.
// "." is a relative path without components.
func TidyPath(text string) (string, error) {
	switch {
	case text == "":
		return "", errors.New("it is empty")
	case len(text) > maxPath:
		return "", fmt.Errorf("it is %d bytes long, at most %d are allowed", len(text), maxPath)
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return "", fmt.Errorf("it has the control character %U", r)
		}
	}
	var parts []string
	for part := range strings.SplitSeq(text, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return "", errors.New(`it has a ".." component`)
		case len(part) > maxComponent:
			return "", fmt.Errorf("it has a component of %d bytes, at most %d are allowed", len(part), maxComponent)
		}
		parts = append(parts, part)
	}
	tidy := strings.Join(parts, "/")
	switch {
	case text[0] == '/':
		return "/" + tidy, nil
	case tidy == "":
		return ".", nil
	default:
		return tidy, nil
	}
}

// below says whether a tidy path is the directory itself (rel is then ".") or lies in it.
func below(dir, p string) (rel string, ok bool) {
	switch {
	case dir == "":
		return "", false // a root that nobody set holds nothing
	case p == dir:
		return ".", true
	case dir == "/":
		return strings.CutPrefix(p, "/")
	default:
		return strings.CutPrefix(p, dir+"/")
	}
}

// Within says whether a tidy path is the directory itself or lies in it.
func Within(dir, p string) bool {
	_, ok := below(dir, p)
	return ok
}

// Nested says whether one of two tidy paths is, or holds, the other.
func Nested(a, b string) bool { return Within(a, b) || Within(b, a) }

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
		rel, ok := below(side(m), p)
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
		if Within(string(root), here) && (!found || len(root) < len(best)) {
			best, found = string(root), true
		}
	}
	return best, found
}
