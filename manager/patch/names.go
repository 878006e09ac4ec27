package patch

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nameFault returns why a path cannot be taken over because of its name, or "".
func nameFault(path string) string {
	switch {
	case len(path) > maxPath:
		return "its path is too long"
	case !utf8.ValidString(path):
		return "its name is not UTF-8"
	case strings.ContainsFunc(path, hidden):
		return "its name has invisible characters"
	}
	return ""
}

// hidden reports whether a character is a control, turns the direction of text, or cannot be seen.
func hidden(r rune) bool {
	return ignorable(r) || !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
}

// ignorable reports whether a character may be shown as nothing: Unicode calls it ignorable by default, or it is the
// blank pattern of Braille.
func ignorable(r rune) bool {
	return r == 0x2800 || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isVersionControl reports whether some file system, or a human eye, may take a name for ".git" or for the directory of
// a similar program. It compares the plain form and the short name of NTFS. The other programs' configuration has hooks
// and aliases just like git's.
func isVersionControl(name string) bool {
	switch plain(name) {
	case ".git", ".hg", ".jj", ".sl", ".bzr", ".svn", ".pijul", "_darcs",
		"git~1", "hg~1", "jj~1", "sl~1", "bzr~1", "svn~1", "pijul~1":
		return true
	}
	return false
}

// fold maps names that some file system or a human eye takes for the same to one form: without case, without characters
// that cannot be seen, and in one Unicode form.
func fold(name string) string {
	return norm.NFKD.String(strings.Map(lowest, norm.NFKD.String(name)))
}

// plain returns a folded name as NTFS reads it: without streams, and without the points and spaces at the end that NTFS
// ignores.
func plain(name string) string {
	name = fold(name)
	start, _, _ := strings.Cut(name, ":")
	return cmp.Or(strings.TrimRight(start, ". "), name)
}

// plainNames returns the names in a path, each in its plain form.
func plainNames(p string) []string {
	all := strings.Split(p, "/")
	for i, name := range all {
		all[i] = plain(name)
	}
	return all
}

func plainPath(p string) string { return strings.Join(plainNames(p), "/") }

// lowest returns the same character for all characters that differ only in case, and none for a character that cannot
// be seen.
func lowest(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return unicode.ToLower(r) // for ASCII the result is the same, and found sooner
	case ignorable(r):
		return -1
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// linkFault returns why a link at a path of the tree is not taken over, or "". Its target may first go up and then
// down, and up by no more levels than the link lies deep. A target that goes up after it went down could lead anywhere.
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
		return "it is a link to an empty, too long or unreadable name"
	}
	return ""
}
