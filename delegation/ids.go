package delegation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxRequestID is the longest request_id in bytes.
const MaxRequestID = 256

// SubagentID addresses a child within its outbox. It has been parsed, so it may become part of a file's name. The zero
// value is no id.
type SubagentID struct{ s string }

// ParseSubagentID accepts [A-Za-z0-9][A-Za-z0-9._-]{0,127} and nothing else.
func ParseSubagentID(s string) (SubagentID, error) {
	if err := parseName(s, "._-"); err != nil {
		return SubagentID{}, fmt.Errorf("subagent_id %w", err)
	}
	return SubagentID{s}, nil
}

func (id SubagentID) String() string { return id.s }

// IsZero reports whether the id was never parsed.
func (id SubagentID) IsZero() bool { return id.s == "" }

// MarshalText and UnmarshalText make JSON pass through the parser.
func (id SubagentID) MarshalText() ([]byte, error) { return []byte(id.s), nil }

// UnmarshalText parses the id; see ParseSubagentID.
func (id *SubagentID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseSubagentID(string(b))
	return err
}

// RequestID tells one request of a subagent from the next. It may be any printable text, so it never becomes part of a
// path, a name or a label; only its Hash does.
type RequestID struct{ s string }

// ParseRequestID accepts non-empty printable UTF-8 of up to MaxRequestID bytes.
func ParseRequestID(s string) (RequestID, error) {
	switch {
	case s == "":
		return RequestID{}, errors.New("request_id must not be empty")
	case len(s) > MaxRequestID:
		return RequestID{}, fmt.Errorf("request_id is %d bytes long, at most %d are allowed", len(s), MaxRequestID)
	case !utf8.ValidString(s):
		return RequestID{}, errors.New("request_id is not valid UTF-8")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return RequestID{}, fmt.Errorf("request_id has the unprintable character %U", r)
		}
	}
	return RequestID{s}, nil
}

func (id RequestID) String() string { return id.s }

// IsZero reports whether the id was never parsed.
func (id RequestID) IsZero() bool { return id.s == "" }

// Hash returns the 16 hexadecimal digits that stand for the id in file names.
func (id RequestID) Hash() string {
	sum := sha256.Sum256([]byte(id.s))
	return hex.EncodeToString(sum[:8])
}

// MarshalText and UnmarshalText make JSON pass through the parser.
func (id RequestID) MarshalText() ([]byte, error) { return []byte(id.s), nil }

// UnmarshalText parses the id; see ParseRequestID.
func (id *RequestID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseRequestID(string(b))
	return err
}

// Token is a short word that may stand in an argument list: a model, a session, a profile. It begins with a letter or a
// digit, so no program takes it for an option. The zero value means that no token was given.
type Token struct{ s string }

// ParseToken accepts [A-Za-z0-9][A-Za-z0-9._:/@-]{0,127} and nothing else.
func ParseToken(s string) (Token, error) {
	if err := parseName(s, "._:/@-"); err != nil {
		return Token{}, err
	}
	return Token{s}, nil
}

func (t Token) String() string { return t.s }

// IsZero reports whether no token was given.
func (t Token) IsZero() bool { return t.s == "" }

// MarshalText and UnmarshalText make JSON pass through the parser.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.s), nil }

// UnmarshalText parses the token; an empty text means no token.
func (t *Token) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*t = Token{}
		return nil
	}
	*t, err = ParseToken(string(b))
	return err
}

// parseName checks that s is a letter or a digit, followed by at most 127 letters, digits or characters from also.
func parseName(s, also string) error {
	switch {
	case s == "":
		return errors.New("must not be empty")
	case len(s) > 128:
		return fmt.Errorf("is %d bytes long, at most 128 are allowed", len(s))
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			continue
		}
		character, _ := utf8.DecodeRuneInString(s[i:])
		if i == 0 {
			return fmt.Errorf("must begin with a letter or a digit, not %q", character)
		}
		if strings.IndexByte(also, c) < 0 {
			return fmt.Errorf("has the character %q at position %d; allowed are letters, digits and %s", character, i+1, also)
		}
	}
	return nil
}
