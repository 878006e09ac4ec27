package delegation

import (
	"fmt"
	"strings"
	"time"
)

// upstreamError is a sentence of MassGen's protocol, kept word for word with its capital letters.
type upstreamError string

func (e upstreamError) Error() string { return string(e) }

func unsupported(version int) error {
	return upstreamError(fmt.Sprintf("Unsupported delegation protocol version: %d (expected %d)", version, Version))
}

func checkReason(reason Reason) error {
	if reason != "" && !isWord(string(reason)) {
		return fmt.Errorf("reason %.100q is none", reason)
	}
	return nil
}

// isWord reports whether s has the form of a code or a reason. It does not ask for known words, because newer watchers
// may have more of them than this package knows.
func isWord(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// wireTime returns t as the wire spells it: in UTC, cut to microseconds so that Python can read it. A time outside the
// years 1 to 9999 becomes the zero time.
func wireTime(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
