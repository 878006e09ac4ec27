package gateway

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// shortest is the shortest secret that the gateway looks for. A shorter one would match ordinary text.
const shortest = 8

// secretsOf returns the secrets that authorizing put into a request's header. A secret is the whole value, or the part
// after the route's prefix, or the part after a first word such as "Bearer".
func secretsOf(before, after http.Header, prefix string) (found []string) {
	for name, values := range after {
		for _, value := range values {
			if slices.Contains(before[name], value) {
				continue
			}
			if rest, ok := strings.CutPrefix(value, prefix); ok && prefix != "" {
				value = rest
			} else if _, rest, ok := strings.Cut(value, " "); ok {
				value = rest
			}
			found = append(found, value)
		}
	}
	return slices.DeleteFunc(found, func(s string) bool { return len(s) < shortest })
}

// scrubber passes a body on, and hides the credential if the upstream repeats it there. It writes one star per byte, so
// that an announced length stays true. It holds back only bytes that may be the beginning of a secret.
type scrubber struct {
	to      io.Writer
	secrets []string
	waiting []byte
}

// Write passes on all bytes that cannot be part of an unfinished secret.
func (s *scrubber) Write(p []byte) (int, error) {
	if len(s.secrets) == 0 {
		return s.to.Write(p)
	}
	text := p
	if len(s.waiting) > 0 {
		text = append(s.waiting, p...)
	}
	text = s.stars(text)
	keep := 0
	for _, secret := range s.secrets {
		keep = max(keep, overlap(text, secret))
	}
	ready := text[:len(text)-keep]
	if len(ready) > 0 {
		if _, err := s.to.Write(ready); err != nil {
			return 0, err
		}
	}
	s.waiting = append([]byte(nil), text[len(ready):]...)
	return len(p), nil
}

// flush passes the held bytes on, because no more follow.
func (s *scrubber) flush() error {
	if len(s.waiting) == 0 {
		return nil
	}
	_, err := s.to.Write(s.waiting)
	s.waiting = nil
	return err
}

// stars returns the text with stars in place of secrets. It does not change the given slice, which belongs to the
// reader.
func (s *scrubber) stars(text []byte) []byte {
	for _, secret := range s.secrets {
		if bytes.Contains(text, []byte(secret)) {
			text = bytes.ReplaceAll(text, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
		}
	}
	return text
}

// overlap returns how many bytes at the end of the text are the beginning of the secret.
func overlap(text []byte, secret string) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if string(text[len(text)-n:]) == secret[:n] {
			return n
		}
	}
	return 0
}

// scrubHeader removes secrets from an answer's header. It drops a field whose name holds a secret.
func scrubHeader(h http.Header, secrets []string) {
	for name, values := range h {
		for _, secret := range secrets {
			if strings.Contains(strings.ToLower(name), strings.ToLower(secret)) {
				delete(h, name)
			}
			for i := range values {
				values[i] = strings.ReplaceAll(values[i], secret, strings.Repeat("*", len(secret)))
			}
		}
	}
}
