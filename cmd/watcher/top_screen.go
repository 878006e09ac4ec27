package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"torno/internal/cli"
)

// Control sequences for the terminal. They turn wrapping off, because a line with double-width characters may be too
// wide.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
)

// topKey is a key: a letter, or one of the constants below.
type topKey rune

const (
	keyQuit topKey = -1 - iota
	keyUp
	keyDown
	keyNone
)

// screen is the terminal while top draws on it and reads single keys. close restores it.
type screen struct {
	out     *cli.Output
	keys    chan topKey
	resized chan os.Signal
	restore func() error
}

func openScreen(in io.Reader, out *cli.Output) (*screen, error) {
	file, ok := in.(*os.File)
	if !ok {
		return nil, errors.New("standard input is not a terminal")
	}
	before, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return nil, err
	}
	s := &screen{
		out: out, keys: make(chan topKey), resized: make(chan os.Signal, 1),
		restore: func() error { return term.Restore(int(file.Fd()), before) },
	}
	signal.Notify(s.resized, syscall.SIGWINCH)
	io.WriteString(out, enterScreen)
	go s.read(file) // it runs until the process ends, because a read from a terminal cannot be cancelled
	return s, nil
}

func (s *screen) close() {
	signal.Stop(s.resized)
	io.WriteString(s.out, leaveScreen)
	_ = s.restore() // nothing can be done if the terminal has gone
}

func (s *screen) read(in io.Reader) {
	defer close(s.keys)
	buffer := make([]byte, 64)
	for {
		n, err := in.Read(buffer)
		for _, key := range keysOf(string(buffer[:n])) {
			s.keys <- key
		}
		if err != nil {
			return
		}
	}
}

// keysOf returns the keys in the bytes that a terminal sent at once. It leaves out keys that mean nothing to top.
func keysOf(text string) (keys []topKey) {
	for text != "" {
		key, length := firstKey(text)
		text = text[length:]
		if key != keyNone {
			keys = append(keys, key)
		}
	}
	return keys
}

func firstKey(text string) (key topKey, length int) {
	for sequence, key := range map[string]topKey{"\x1b[A": keyUp, "\x1bOA": keyUp, "\x1b[B": keyDown, "\x1bOB": keyDown} {
		if strings.HasPrefix(text, sequence) {
			return key, len(sequence)
		}
	}
	switch c := text[0]; {
	case c == 3 || c == 4: // Ctrl-C and Ctrl-D
		return keyQuit, 1
	case c == 0x1b:
		return keyNone, len(text) // the sequence of some other key; its letters are not keys of top
	case c >= 'a' && c <= 'z':
		return topKey(c), 1
	}
	return keyNone, 1
}

// The size that is assumed if the terminal does not tell its size.
const usualWidth, usualHeight = 80, 24

func (s *screen) size() (width, height int) {
	width, height = s.out.Size()
	if width < 1 || height < 1 {
		return usualWidth, usualHeight
	}
	return width, height
}

func (s *screen) draw(shown snapshot, width, height int) {
	io.WriteString(s.out, frame(picture(shown, width, height), s.out.Paint))
}

// frame returns the bytes that put lines on a screen. It clears each line before it writes it, and not after: after a
// line that fills the whole width the cursor still stands on the last character, and clearing would remove it.
func frame(lines []cli.Cell, paint func(cli.Colour, string) string) string {
	var all strings.Builder
	all.WriteString(toTop)
	for i, line := range lines {
		if i > 0 {
			all.WriteString("\r\n")
		}
		if i == len(lines)-1 {
			all.WriteString(clearRest)
		} else {
			all.WriteString(clearLine)
		}
		all.WriteString(paint(line.Colour, line.Text))
	}
	return all.String()
}
