package route

import (
	"errors"
	"strings"
)

const (
	maxPath     = 4 << 10
	maxSegments = 64
)

// splitPath takes a path apart into decoded segments. A slash at the end makes an empty last segment; no other segment is
// empty. A segment may hold a slash that was encoded: only a rule can say whether it may (pattern.match).
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

// decodeSegment decodes once. It refuses text that the upstream could decode or read again, and that would mean something else then:
// a percent sign, a backslash, a parameter (;), a query, a fragment, and everything that no one can see.
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

// unescape decodes %XX, and only once.
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

// escape encodes all but letters, digits and the characters of keep.
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
	plainInSegment = "-._~!$&'()*+,=:@" // what stands in a segment as it is
	plainInName    = "-._~@"            // what stands so in a captured name: AWS signs a colon in its encoded form
)
