package usage

import (
	"encoding/json"
	"strconv"
)

const (
	maxDepth = 512 // levels of nested values in a document
	maxToken = 256 // bytes of a key, number or text, as written
)

// node is a place in a document. The nodes form a tree of the places that the scanner looks at.
type node struct {
	keys map[string]*node
	each *node // every element of an array
	slot slot  // where to keep a scalar found here
	body bool  // a text in base64 that holds another document
}

// frame is an open object or array.
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
	wantMore // a comma, or the end of the open object or array
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

// scanner reads one JSON document byte by byte, as strictly as encoding/json, and keeps the scalars that its nodes
// name.
type scanner struct {
	root  *node
	found found
	inner *inner // for nodes with a body

	state   state
	open    []frame
	at      *node // the node of the current or next value; nil if the value does not matter
	isKey   bool  // the current string is a key
	hex     int   // digits left of \uXXXX
	literal string
	token   []byte // a key, text or number that may matter; if it is longer than maxToken, it does not
	long    bool
	began   bool
}

// reset prepares the scanner for another document.
func (s *scanner) reset() {
	*s = scanner{root: s.root, inner: s.inner, open: s.open[:0], token: s.token[:0]}
	if s.inner != nil {
		s.inner.reset()
	}
}

// complete reports whether the document is complete if it ends here.
func (s *scanner) complete() bool {
	switch s.state {
	case ended:
		return true
	case numZero, numDigits, numFraction, numExponent:
		return len(s.open) == 0 // a bare number: valid, but it tells no usage
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
		s.state = broken // bytes after the end
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

// wrong notes a value that is not a number in a place for a number.
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

// after runs at the end of every value.
func (s *scanner) after() {
	s.state = wantMore
	if len(s.open) == 0 {
		s.state = ended
	}
}

// keep stores a byte of a token that may matter.
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

// inBody reports whether the current string holds another document.
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

// text returns the token without escapes; "" if it was too long to keep.
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

// below returns the node of a key in the open object.
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

// number takes a byte of a number, or the first byte after it.
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
