package patch

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Selection is a part of a tree: everything at or below Paths, except everything at or below Without. No Paths mean the
// whole tree. Paths that git ignores are left out unless Paths names them.
type Selection struct {
	Paths, Without []string
	Ignored        bool // also paths that git ignores
}

// Select checks the paths of a selection, which are relative to the tree.
func Select(wanted, without []string) (Selection, error) {
	var s Selection
	var err error
	if s.Paths, err = cleaned(wanted); err != nil {
		return s, err
	}
	s.Without, err = cleaned(without)
	return s, err
}

func cleaned(all []string) ([]string, error) {
	var out []string
	for _, p := range all {
		clean := path.Clean(p)
		if path.IsAbs(clean) || isOutside(clean) {
			return nil, fmt.Errorf("%s is not a path in the workspace", p)
		}
		out = append(out, clean)
	}
	return out, nil
}

// has reports whether a path is selected.
func (s Selection) has(p string) bool {
	for _, without := range s.Without {
		if within(p, without) {
			return false
		}
	}
	if len(s.Paths) == 0 {
		return true
	}
	for _, wanted := range s.Paths {
		if within(p, wanted) {
			return true
		}
	}
	return false
}

// leadsTo reports whether something selected may lie at or below a path.
func (s Selection) leadsTo(p string) bool {
	if s.has(p) {
		return true
	}
	for _, wanted := range s.Paths {
		if within(wanted, p) {
			return true
		}
	}
	return false
}

// isOutside reports whether a clean relative path leads out of the tree.
func isOutside(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }

// above returns the directory of a clean relative path.
func above(p string) string {
	if at := strings.LastIndexByte(p, '/'); at >= 0 {
		return p[:at]
	}
	return "."
}

// within reports whether a path is dir or lies below it. Both are clean and relative.
func within(p, dir string) bool {
	if dir == "." || p == dir {
		return true
	}
	rest, ok := strings.CutPrefix(p, dir)
	return ok && rest[0] == '/'
}

// Named quotes the first paths, up to most of them, and counts the others.
func Named(paths []string, most int) string {
	var all []string
	for _, p := range paths[:min(len(paths), most)] {
		all = append(all, strconv.Quote(p))
	}
	if more := len(paths) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}
