package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// output is a stream that knows whether a person looks at it. What a child wrote goes through it in one of two ways: as
// it is into a pipe, and with its control characters made visible onto a terminal, which it could otherwise rule.
type output struct {
	to       io.Writer
	terminal bool
	colour   bool
	err      error // the first one
}

func newOutput(to io.Writer, env func(string) string) *output {
	f, ok := to.(*os.File)
	if !ok {
		return &output{to: to}
	}
	fi, err := f.Stat()
	terminal := err == nil && fi.Mode()&os.ModeCharDevice != 0
	return &output{to: to, terminal: terminal, colour: terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// foreign writes a child's bytes.
func (o *output) foreign(data []byte) {
	if o.terminal {
		data = []byte(visible(string(data)))
	}
	o.Write(data)
}

// quoted writes a child's text behind bars, so that no line of it passes for one of ours.
func (o *output) quoted(text string) {
	for line := range strings.Lines(visible(text)) {
		fmt.Fprintf(o, "  | %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// paint colours a text of ours.
func (o *output) paint(colour, text string) string {
	if !o.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// The colours in use.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// visible shows what a terminal would obey and an eye would miss. Newlines and tabs stay.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case r == '\n' || r == '\t' || !hidden(r):
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
		case r < 0x80:
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// hidden says whether a character is a control, turns the direction of text, or cannot be seen. Spaces are not.
func hidden(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }

// oneLine is visible without newlines and tabs, at most 2000 characters long: a text of others within a line of ours.
func oneLine(text string) string {
	text = strings.NewReplacer("\n", " ", "\t", " ").Replace(visible(text))
	if runes := []rune(text); len(runes) > 2000 {
		text = string(runes[:2000]) + "…"
	}
	return text
}
