package route

import (
	"errors"
	"strings"
)

const (
	maxPath     = 4 << 10
	maxSegments = 64
)

// splitPath splits a path into decoded segments. If the path ends with a slash, the last segment is empty; no other
// segment may be. A segment may hold a slash that was encoded: only a rule can allow or refuse that (pattern.match).
func splitPath(raw string) ([]string, error) {
	if len(raw) > maxPath {
		return nil, errors.New("the path is too long")
	}
	if !strings.HasPrefix(raw, "/") {
		return nil, errors.New("the path does not begin with /")
	}
	parts := strings.Split(raw[1:], "/")
	if len(parts) > maxSegments {
		return nil, errors.New("the path has too many segments")
	}
	for i, part := range parts {
		segment, err := decodeSegment(part)
		if err != nil {
			return nil, err
		}
		if segment == "" && i < len(parts)-1 {
			return nil, errors.New("the path has an empty segment")
		}
		parts[i] = segment
	}
	return parts, nil
}

// decodeSegment decodes once. It refuses characters that the upstream could decode or interpret again, with another
// meaning: a percent sign, a backslash, a parameter (;), a query, a fragment, and all invisible characters.
func decodeSegment(raw string) (string, error) {
	segment, err := unescape(raw)
	if err != nil {
		return "", err
	}
	for _, c := range []byte(segment) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`%\;?#"<>^{|}`+"`", c) >= 0 {
			return "", errors.New("the path has a character that does not belong there")
		}
	}
	if segment == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(segment, "/") {
		if part == "" || part == "." || part == ".." {
			return "", errors.New("the path has a segment that leads elsewhere")
		}
	}
	return segment, nil
}

// unescape decodes %XX, once.
func unescape(raw string) (string, error) {
	if !strings.Contains(raw, "%") {
		return raw, nil
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '%' {
			b.WriteByte(raw[i])
			continue
		}
		if i+2 >= len(raw) || hex(raw[i+1]) < 0 || hex(raw[i+2]) < 0 {
			return "", errors.New("a percent sign stands before something that is not two hexadecimal digits")
		}
		b.WriteByte(byte(hex(raw[i+1])<<4 | hex(raw[i+2])))
		i += 2
	}
	return b.String(), nil
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// escape encodes every byte but letters, digits and the characters of keep.
func escape(text, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

const (
	plainInSegment = "-._~!$&'()*+,=:@" // characters that a segment may hold unencoded
	plainInName    = "-._~@"            // the same for a captured name, where AWS signs a colon in its encoded form
)
