package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// What is drawn between what was recorded, in milliseconds.
const (
	perKey = 20   // of typing
	before = 400  // a line is typed
	enter  = 200  // between the last key and the answer's beginning
	behind = 700  // an answer, to read it
	rest   = 6000 // at the end, before it begins anew
)

// piece is text that appears at once.
type piece struct {
	at          int // milliseconds since the beginning
	row, column int
	style, text string
	typed       bool
}

// screen is the terminal that a session is played on. Nothing of it scrolls away.
type screen struct {
	pieces      []piece
	row, column int
	style       string
	now         int
}

// play plays a session. The screen's now is its end.
func play(session []event) (*screen, error) {
	s := &screen{}
	entered := 0
	for i, e := range session {
		if e.Types == "" {
			s.now = max(s.now, entered+e.After)
			if err := s.say(e.Says); err != nil {
				return nil, fmt.Errorf("event %d: %w", i+1, err)
			}
			continue
		}
		if i > 0 {
			s.now += behind
		}
		if s.column > 0 {
			s.line()
		}
		if err := s.types(e.Types); err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		entered = s.now
	}
	s.now += rest
	return s, nil
}

func (s *screen) types(line string) error {
	if n := len([]rune(line)) + 2; n > columns || strings.ContainsFunc(line, unicode.IsControl) {
		return fmt.Errorf("%q is not a line of %d columns", line, columns)
	}
	style := "typed"
	if strings.HasPrefix(line, "#") {
		style = "remark"
	}
	s.pieces = append(s.pieces, piece{s.now, s.row, 0, "prompt", "$", false})
	s.now += before
	s.pieces = append(s.pieces, piece{s.now, s.row, 2, style, line, true})
	s.now += perKey*len([]rune(line)) + enter
	s.line()
	return nil
}

func (s *screen) line() { s.row, s.column = s.row+1, 0 }

// styles are the sequences that our programs use, as classes of the picture.
var styles = map[string]string{"0": "", "1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow"}

var sequence = regexp.MustCompile("^\x1b\\[([0-9]+)m")

// say prints what a program has said, as a terminal does that knows colours and the ends of lines.
func (s *screen) say(text string) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for text != "" {
		if found := sequence.FindStringSubmatch(text); found != nil {
			style, known := styles[found[1]]
			if !known {
				return fmt.Errorf("the colour %s is not known", found[1])
			}
			s.style, text = style, text[len(found[0]):]
			continue
		}
		if text[0] == '\n' {
			s.line()
			text = text[1:]
			continue
		}
		end := strings.IndexFunc(text, unicode.IsControl)
		if end == 0 {
			return fmt.Errorf("the control character %q is not known", text[0])
		}
		if end < 0 {
			end = len(text)
		}
		s.put([]rune(text[:end]))
		text = text[end:]
	}
	return nil
}

// put prints text without control characters, and goes on in the next line where one is full.
func (s *screen) put(text []rune) {
	for len(text) > 0 {
		if s.column == columns {
			s.line()
		}
		n := min(len(text), columns-s.column)
		s.pieces = append(s.pieces, piece{s.now, s.row, s.column, s.style, string(text[:n]), false})
		s.column, text = s.column+n, text[n:]
	}
}
