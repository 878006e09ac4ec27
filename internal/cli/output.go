package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Output is a stream that knows whether it ends at a terminal. Any goroutine may write to it. Text from strangers goes
// into a pipe unchanged. On a terminal Output makes its control characters visible, because they could otherwise
// control the terminal.
type Output struct {
	Terminal bool
	Colour   bool

	to  io.Writer
	mu  sync.Mutex // guards err, and keeps concurrent writes apart
	err error      // the first error
}

// NewOutput wraps a stream and finds out whether it is a terminal. It heeds NO_COLOR and TERM=dumb.
func NewOutput(to io.Writer, env func(string) string) *Output {
	terminal := IsTerminal(to)
	return &Output{to: to, Terminal: terminal, Colour: terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// Width returns the number of columns of the terminal. It returns 0 without a terminal, or if the terminal does not
// tell.
func (o *Output) Width() int {
	width, _ := o.Size()
	return width
}

// Size returns the columns and lines of the terminal. Both are 0 without a terminal, or if the terminal does not tell.
func (o *Output) Size() (columns, lines int) {
	file, ok := o.to.(*os.File)
	if !ok {
		return 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// Err returns the first error of writing.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Flush makes sure that all output has arrived. It returns the first error of a write or of the flush. It syncs a file
// to its disk, because the disk may report only then that it is full. A pipe or a terminal has the output already.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	file, ok := o.to.(*os.File)
	if !ok || o.err != nil {
		return o.err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = file.Sync()
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) { // such a file system has no disk to sync
		err = nil
	}
	o.err = err
	return err
}

// Foreign writes bytes that come from a stranger.
func (o *Output) Foreign(data []byte) {
	if o.Terminal {
		data = []byte(visible(string(data)))
	}
	_, _ = o.Write(data) // Err keeps the error
}

// Quoted writes a stranger's text behind bars, so that no line of it passes for one of ours.
func (o *Output) Quoted(text string) {
	for line := range strings.Lines(visible(text)) {
		fmt.Fprintf(o, "  | %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// Paint colours a text of ours.
func (o *Output) Paint(colour Colour, text string) string {
	if !o.Colour || colour == "" {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}

// Colour is the terminal code for the look of a text.
type Colour string

// The programs use these colours.
const (
	Plain  Colour = ""
	Bold   Colour = "1"
	Dim    Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// visible spells out the characters that a terminal would obey or an eye would miss. Newlines and tabs stay.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case r == '\n' || r == '\t' || !Hidden(r):
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

// Hidden reports whether a character is a control, turns the direction of text, or cannot be seen. Spaces do not count
// as hidden.
func Hidden(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }

// maxLine bounds a text from others within a line of ours, in characters.
const maxLine = 2000

// OneLine makes a text from others fit into a line of ours: control characters visible, no newlines or tabs, and at
// most maxLine characters.
func OneLine(text string) string {
	text = flat(text)
	if runes := []rune(text); len(runes) > maxLine {
		text = string(runes[:maxLine]) + "…"
	}
	return text
}

// flat replaces line ends and tabs by spaces and makes other control characters visible.
func flat(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(visible(text))
}
