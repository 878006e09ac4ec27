package patch

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nameFault says what is wrong with a path that would be taken over, or "".
func nameFault(path string) string {
	switch {
	case len(path) > maxPath:
		return "its path is too long"
	case !utf8.ValidString(path):
		return "its name is not UTF-8"
	case strings.ContainsFunc(path, hidden):
		return "its name has characters that cannot be seen"
	}
	return ""
}

// hidden says whether a character is a control, turns the direction of text, or cannot be seen.
func hidden(r rune) bool {
	return ignorable(r) || !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
}

// ignorable says whether a character may be shown as nothing: those that Unicode calls ignorable by default, and the blank
// pattern of Braille.
func ignorable(r rune) bool {
	return r == 0x2800 || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isVersionControl says whether some file system takes a name for ".git", or that of another program's, or an eye may: in its
// plain form, or as the short name that NTFS gives it. Their configuration has hooks and aliases as git's has.
func isVersionControl(name string) bool {
	switch plain(name) {
	case ".git", ".hg", ".jj", ".sl", ".bzr", ".svn", ".pijul", "_darcs",
		"git~1", "hg~1", "jj~1", "sl~1", "bzr~1", "svn~1", "pijul~1":
		return true
	}
	return false
}

// fold brings names to one form that some file system, or an eye, takes for the same: without case, without characters that
// cannot be seen, and in one Unicode form.
func fold(name string) string {
	return norm.NFKD.String(strings.Map(lowest, norm.NFKD.String(name)))
}

// plain is a folded name as some file system reads it: without the streams, and the points and spaces at its end, that NTFS
// ignores.
func plain(name string) string {
	name = fold(name)
	start, _, _ := strings.Cut(name, ":")
	return cmp.Or(strings.TrimRight(start, ". "), name)
}

// plainNames are the plain names of a path.
func plainNames(p string) []string {
	all := strings.Split(p, "/")
	for i, name := range all {
		all[i] = plain(name)
	}
	return all
}

func plainPath(p string) string { return strings.Join(plainNames(p), "/") }

// lowest is one of the characters that are equal but for their case, always the same one; none for one that cannot be seen.
func lowest(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return unicode.ToLower(r) // of such characters it is the same one, and found sooner
	case ignorable(r):
		return -1
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// linkFault says why a link at a path of the tree is not taken over, or "". Its target may go up first and then down, by no
// more than the link lies deep; up after down could be anywhere.
func linkFault(path, target string) string {
	if strings.HasPrefix(target, "/") {
		return "it is a link that leads out of the tree"
	}
	depth, down := strings.Count(path, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			if depth--; down || depth < 0 {
				return "it is a link that leads out of the tree"
			}
		case isVersionControl(part):
			return "it is a link into a git directory"
		default:
			down = true
		}
	}
	if nameFault(target) != "" || target == "" {
		return "it is a link to a name that cannot be seen"
	}
	return ""
}
