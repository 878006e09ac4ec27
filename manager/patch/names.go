package patch

import (
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
func hidden(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }

// isGitDirectory says whether some file system takes a name for ".git": without case, with characters that HFS+ ignores,
// with the points and spaces at its end and the streams that NTFS ignores, or by its short name there.
func isGitDirectory(name string) bool {
	name = strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = fold(strings.TrimRight(name, ". "))
	return name == ".git" || name == "git~1"
}

// ignoredByHFS are the characters that HFS+ leaves out of a comparison, by git's own list.
func ignoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// fold brings names to one form that some file system takes for the same: without case, and in one Unicode form.
func fold(name string) string {
	return norm.NFKD.String(strings.Map(lowest, norm.NFKD.String(name)))
}

// lowest is one of the characters that are equal but for their case, always the same one.
func lowest(r rune) rune {
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
		case isGitDirectory(part):
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
