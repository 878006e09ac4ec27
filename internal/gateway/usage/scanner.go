package usage

import (
	"encoding/json"
	"strconv"
)

const (
	maxDepth = 512 // of nested values in a document
	maxToken = 256 // of a key, a number or a text that is looked for, as written
)

// node is a place in a document: a tree of what is looked for.
type node struct {
	keys map[string]*node
	each *node // every element of an array
	slot slot  // what a scalar here is kept as
	body bool  // a text in base64, whose content is a document of its own
}

// frame is an object or an array that is open.
type frame struct {
	at     *node
	object bool
}

// state tells which token the scanner expects next.
type state uint8

const (
	wantValue state = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantColon
	wantMore // a comma, or the end of what is open
	inString
	inEscape
	inHex
	inLiteral
	numMinus
	numZero
	numDigits
	numPoint
	numFraction
	numE
	numSign
	numExponent
	ended
	broken
)

// scanner reads one JSON document byte by byte, as strictly as encoding/json, and keeps the scalars that are looked for.
type scanner struct {
	root  *node
	found found
	inner *inner // for nodes with a body

	state   state
	open    []frame
	at      *node // of the value that is read or comes next; nil where nothing is looked for
	isKey   bool  // the string is a key
	hex     int   // digits left of \uXXXX
	literal string
	token   []byte // a key, a text or a number, if it is looked for; longer than maxToken it is none of ours
	long    bool
	began   bool
}

// reset makes it ready for another document.
func (s *scanner) reset() {
	*s = scanner{root: s.root, inner: s.inner, open: s.open[:0], token: s.token[:0]}
	if s.inner != nil {
		s.inner.reset()
	}
}

// complete says that the document is whole, if it ends here.
func (s *scanner) complete() bool {
	switch s.state {
	case ended:
		return true
	case numZero, numDigits, numFraction, numExponent:
		return len(s.open) == 0 // a bare number: valid, and nothing that is looked for
	default:
		return false
	}
}

func (s *scanner) read(c byte) {
	if !s.began && s.state == wantValue {
		s.began, s.at = true, s.root
	}
	switch s.state {
	case broken:
	case inString:
		s.string(c)
	case inEscape:
		s.escape(c)
	case inHex:
		s.hexDigit(c)
	case inLiteral:
		s.literalByte(c)
	case numMinus, numZero, numDigits, numPoint, numFraction, numE, numSign, numExponent:
		s.number(c)
	default:
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			s.structure(c)
		}
	}
}

// structure takes a byte between two tokens.
func (s *scanner) structure(c byte) {
	switch s.state {
	case wantValueOrEnd:
		if c == ']' {
			s.close(false)
			return
		}
		s.value(c)
	case wantValue:
		s.value(c)
	case wantKeyOrEnd:
		if c == '}' {
			s.close(true)
			return
		}
		s.keyBegin(c)
	case wantKey:
		s.keyBegin(c)
	case wantColon:
		s.expect(c == ':', wantValue)
	case wantMore:
		s.more(c)
	default:
		s.state = broken // something after the end
	}
}

func (s *scanner) expect(ok bool, next state) {
	s.state = broken
	if ok {
		s.state = next
	}
}

func (s *scanner) more(c byte) {
	top := s.open[len(s.open)-1]
	switch {
	case c == ',' && top.object:
		s.state = wantKey
	case c == ',':
		s.state, s.at = wantValue, elementOf(top.at)
	case c == '}' || c == ']':
		s.close(c == '}')
	default:
		s.state = broken
	}
}

func elementOf(n *node) *node {
	if n == nil {
		return nil
	}
	return n.each
}

func (s *scanner) keyBegin(c byte) {
	s.isKey = true
	s.token, s.long = s.token[:0], false
	s.expect(c == '"', inString)
}

// value begins a value.
func (s *scanner) value(c byte) {
	s.token, s.long, s.isKey = s.token[:0], false, false
	switch {
	case c == '{' || c == '[':
		s.push(c == '{')
	case c == '"':
		s.state = inString
	case c == '-':
		s.state = numMinus
		s.keep(c)
	case c == '0':
		s.state = numZero
		s.keep(c)
	case '1' <= c && c <= '9':
		s.state = numDigits
		s.keep(c)
	case c == 't':
		s.state, s.literal = inLiteral, "rue"
		s.wrong()
	case c == 'f':
		s.state, s.literal = inLiteral, "alse" //nolint:misspell // the rest of false
		s.wrong()
	case c == 'n':
		s.state, s.literal = inLiteral, "ull"
	default:
		s.state = broken
	}
}

// wrong notes that there is a scalar of another kind where a number is looked for.
func (s *scanner) wrong() {
	if s.at != nil && s.at.slot != none && s.at.slot < firstText {
		s.found.bad = true
	}
}

func (s *scanner) push(object bool) {
	if len(s.open) == maxDepth {
		s.state = broken
		return
	}
	s.wrong()
	s.open = append(s.open, frame{s.at, object})
	s.state = wantKeyOrEnd
	if !object {
		s.state, s.at = wantValueOrEnd, elementOf(s.at)
	}
}

func (s *scanner) close(object bool) {
	top := len(s.open) - 1
	if s.open[top].object != object {
		s.state = broken
		return
	}
	s.open = s.open[:top]
	s.after()
}

// after follows every value.
func (s *scanner) after() {
	s.state = wantMore
	if len(s.open) == 0 {
		s.state = ended
	}
}

// keep holds a byte of a token that may be looked for.
func (s *scanner) keep(c byte) {
	if !s.isKey && (s.at == nil || s.at.slot == none) {
		return
	}
	if len(s.token) == maxToken {
		s.long = true
		return
	}
	s.token = append(s.token, c)
}

func (s *scanner) string(c byte) {
	switch {
	case c == '"':
		s.stringEnd()
		return
	case c == '\\':
		s.state = inEscape
	case c < 0x20:
		s.state = broken
		return
	}
	if s.inBody() {
		s.inner.base64(c)
		return
	}
	s.keep(c)
}

// inBody says whether the string is a document of its own.
func (s *scanner) inBody() bool { return !s.isKey && s.inner != nil && s.at != nil && s.at.body }

func (s *scanner) escape(c byte) {
	s.keep(c)
	switch c {
	case 'u':
		s.state, s.hex = inHex, 4
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.state = inString
	default:
		s.state = broken
	}
	if s.inBody() {
		if c != '/' {
			c = '\\' // no other escape is base64
		}
		s.inner.base64(c)
	}
}

func (s *scanner) hexDigit(c byte) {
	s.keep(c)
	if isHex := '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'; !isHex {
		s.state = broken
		return
	}
	if s.hex--; s.hex == 0 {
		s.state = inString
	}
}

func (s *scanner) stringEnd() {
	if s.isKey {
		s.at = s.below(s.text())
		s.state = wantColon
		return
	}
	s.wrong()
	if s.at != nil && s.at.slot >= firstText {
		s.found.say(s.at.slot, s.text())
	}
	s.after()
}

// text is the token without its escapes, "" if it was too long to be kept.
func (s *scanner) text() string {
	if s.long {
		return ""
	}
	var text string
	quoted := append(append([]byte{'"'}, s.token...), '"')
	if json.Unmarshal(quoted, &text) != nil {
		return ""
	}
	return text
}

// below is the node of a key in the object that is open.
func (s *scanner) below(key string) *node {
	at := s.open[len(s.open)-1].at
	if at == nil || s.long {
		return nil
	}
	return at.keys[key]
}

func (s *scanner) literalByte(c byte) {
	if c != s.literal[0] {
		s.state = broken
		return
	}
	if s.literal = s.literal[1:]; s.literal == "" {
		s.after()
	}
}

// number takes a byte of a number, or the one after it.
func (s *scanner) number(c byte) {
	digit := '0' <= c && c <= '9'
	next := broken
	switch s.state {
	case numMinus:
		if c == '0' {
			next = numZero
		} else if digit {
			next = numDigits
		}
	case numZero, numDigits:
		switch {
		case digit && s.state == numDigits:
			next = numDigits
		case c == '.':
			next = numPoint
		case c == 'e' || c == 'E':
			next = numE
		case !digit:
			next = wantMore
		}
	case numPoint:
		if digit {
			next = numFraction
		}
	case numFraction:
		switch {
		case digit:
			next = numFraction
		case c == 'e' || c == 'E':
			next = numE
		default:
			next = wantMore
		}
	case numE:
		if c == '+' || c == '-' {
			next = numSign
		} else if digit {
			next = numExponent
		}
	case numSign:
		if digit {
			next = numExponent
		}
	case numExponent:
		next = wantMore
		if digit {
			next = numExponent
		}
	}
	if next != wantMore {
		s.state = next
		s.keep(c)
		return
	}
	s.numberEnd()
	s.read(c)
}

func (s *scanner) numberEnd() {
	if s.at != nil && s.at.slot != none && s.at.slot < firstText {
		n, err := strconv.ParseUint(string(s.token), 10, 63)
		if err != nil || s.long || n > maxTokens {
			s.found.bad = true
		} else {
			s.found.count(s.at.slot, int64(n))
		}
	}
	s.after()
}
