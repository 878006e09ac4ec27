package paths

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// The longest path and component that Linux accepts, in bytes, without the zero byte at the end.
const (
	Max          = 4095
	maxComponent = 255
)

// Tidy returns the only tidy spelling of an untrusted path: no empty component, no ".", no slash at the end. It refuses
// a path with "..", because the meaning of ".." depends on links that nobody has looked at yet. A relative path without
// components becomes ".".
func Tidy(text string) (string, error) {
	switch {
	case text == "":
		return "", errors.New("it is empty")
	case len(text) > Max:
		return "", fmt.Errorf("it is %d bytes long, at most %d are allowed", len(text), Max)
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

// Below reports whether a tidy path is the directory itself or lies in it. rel is the path from the directory, or "."
// for the directory itself.
func Below(dir, p string) (rel string, ok bool) {
	switch {
	case dir == "":
		return "", false // an empty root holds nothing
	case p == dir:
		return ".", true
	case dir == "/":
		return strings.CutPrefix(p, "/")
	default:
		return strings.CutPrefix(p, dir+"/")
	}
}

// Within reports whether a tidy path is the directory itself or lies in it.
func Within(dir, p string) bool {
	_, ok := Below(dir, p)
	return ok
}

// Nested reports whether two tidy paths are the same or one holds the other.
func Nested(a, b string) bool { return Within(a, b) || Within(b, a) }
