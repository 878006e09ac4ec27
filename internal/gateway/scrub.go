package gateway

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// shortest is the least length of a secret that is looked for: a shorter one would be found in every text.
const shortest = 8

// secretsOf are the secrets that authorizing a request has put into its header: whole values, or what stands after the route's
// prefix, or after the word that says their kind.
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

// scrubber passes a body on in which an upstream may say the credential that it was sent. It writes stars in its place, as
// many, so that a length that was told stays true. Nothing waits in it but what may be the beginning of a secret.
type scrubber struct {
	to      io.Writer
	secrets []string
	waiting []byte
}

// Write passes on what can be no part of a secret.
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

// flush passes on what waits, because nothing follows.
func (s *scrubber) flush() error {
	if len(s.waiting) == 0 {
		return nil
	}
	_, err := s.to.Write(s.waiting)
	s.waiting = nil
	return err
}

// stars returns the text with its secrets starred. The given slice, which is the reader's, is not changed.
func (s *scrubber) stars(text []byte) []byte {
	for _, secret := range s.secrets {
		if bytes.Contains(text, []byte(secret)) {
			text = bytes.ReplaceAll(text, []byte(secret), bytes.Repeat([]byte("*"), len(secret)))
		}
	}
	return text
}

// overlap is how long a beginning of the secret the text ends with.
func overlap(text []byte, secret string) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if string(text[len(text)-n:]) == secret[:n] {
			return n
		}
	}
	return 0
}

// scrubHeader takes secrets out of the header of an answer. A name that holds one is dropped.
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
