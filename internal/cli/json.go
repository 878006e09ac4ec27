package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Object prints one JSON object on a line of its own.
func (o *Output) Object(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err = fmt.Fprintln(o, escapeHidden(string(data)))
	return err
}

// escapeHidden escapes the characters that JSON allows but a terminal obeys. The JSON keeps its meaning.
func escapeHidden(text string) string {
	if !strings.ContainsFunc(text, Hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !Hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}
