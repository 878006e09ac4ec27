package wire

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// parseTarget splits a target into path and query. It refuses every target that two readers could take for two
// different paths. An escaped slash stays escaped, because names in registries have it.
func parseTarget(target string) (path, query string, err error) {
	if len(target) > maxTarget {
		return "", "", &Error{http.StatusRequestURITooLong, "head_too_large", "the request's path and query are longer than 8 KiB"}
	}
	if !strings.HasPrefix(target, "/") {
		return "", "", malformed("the target is not a path; the route chooses the server")
	}
	path, query, _ = strings.Cut(target, "?")
	if !all(path, isPath) || !all(query, isQuery) {
		return "", "", malformed("the path or the query has characters that must be escaped")
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return "", "", malformed("the path has an invalid escape")
	}
	if meant, err := url.PathUnescape(query); err != nil || !printable(meant) {
		return "", "", malformed("the query has an invalid escape, or an escape for a control character")
	}
	if !printable(plain) || strings.Contains(plain, `\`) || escapedTwice(plain) {
		return "", "", malformed("the path has an escape that stands for a control character, a backslash or another escape")
	}
	return path, query, climbs(plain)
}

// climbs refuses empty segments, and the segments . and .., also after an escaped slash.
func climbs(plain string) error {
	segments := strings.Split(plain[1:], "/")
	for i, segment := range segments {
		segment, _, _ = strings.Cut(segment, ";") // some servers treat the rest as parameters
		switch {
		case segment == "." || segment == "..":
			return malformed("the path has a segment . or ..")
		case segment == "" && i < len(segments)-1:
			return malformed("the path has two slashes in a row")
		}
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 })
}

// escapedTwice reports whether a text that was unescaped once would change if it were unescaped again.
func escapedTwice(plain string) bool {
	again, err := url.PathUnescape(plain)
	return err == nil && again != plain
}

func isPath(c byte) bool {
	return isDigit(c) || isLetter(c) || strings.IndexByte("-._~!$&'()*+,;=:@/%", c) >= 0
}

func isQuery(c byte) bool { return isPath(c) || strings.IndexByte("?[]|", c) >= 0 }
