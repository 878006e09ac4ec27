package credential

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const hidden = "(secret)"

// Secret is a text that no formatting shows. It is behind a pointer, because fmt prints unexported fields without
// calling their methods.
type Secret struct{ text *string }

func secretOf(text string) Secret { return Secret{&text} }

// reveal returns the text; "" if there is no secret.
func (s Secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format hides the secret from every verb of fmt.
func (Secret) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(hidden)) }

// MarshalText hides the secret from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the secret from logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

const (
	shortest = 8  // a shorter text is no secret, and removing it would destroy other texts
	piece    = 12 // a part of a secret that is this long is removed too
	mostOld  = 64 // number of secrets that are remembered
)

// Known remembers the secrets that were read.
type Known struct {
	mu    sync.Mutex
	forms [][]string // all spellings of each secret; the most recently used secret is last
}

// NewKnown returns an empty list.
func NewKnown() *Known { return &Known{} }

// add remembers a secret that was read or used. It forgets the least recently used one if there are too many.
func (k *Known) add(secret string) {
	if len(secret) < shortest {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.forms, func(f []string) bool { return f[0] == secret })
	if at >= 0 {
		again := k.forms[at]
		k.forms = append(slices.Delete(k.forms, at, at+1), again)
		return
	}
	quoted, err := json.Marshal(secret)
	if err != nil {
		panic(err) // every text can be written as JSON
	}
	forms := []string{
		secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	slices.Sort(forms[1:])
	k.forms = append(k.forms, slices.Compact(forms))
	if len(k.forms) > mostOld {
		k.forms = slices.Delete(k.forms, 0, 1)
	}
}

// maxScrub bounds the work for one text. Scrub cuts off the rest.
const maxScrub = 16 << 10

// Scrub removes every secret from a text, also in the usual encodings, and every long piece of a secret.
func (k *Known) Scrub(text string) string {
	if len(text) > maxScrub {
		text = text[:maxScrub]
	}
	k.mu.Lock()
	forms := slices.Concat(k.forms...)
	k.mu.Unlock()
	var b strings.Builder
	for i := 0; i < len(text); {
		n := longest(text[i:], forms)
		if n == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(hidden)
		i += n
	}
	return b.String()
}

// longest returns how many bytes at the beginning of text are part of a secret: 0, or at least a whole piece.
func longest(text string, forms []string) int {
	most := 0
	for _, form := range forms {
		n := min(piece, len(form))
		if len(text) < n {
			continue
		}
		for at := strings.Index(form, text[:n]); at >= 0; {
			end := n
			for end < len(text) && at+end < len(form) && text[end] == form[at+end] {
				end++
			}
			most = max(most, end)
			next := strings.Index(form[at+1:], text[:n])
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return most
}
