package usage

// inner reads a document that is the base64 of a text in another one.
type inner struct {
	scanner scanner
	event   func(*found)
	lost    func()

	bits   uint32
	digits int // of the group of four
	filled int // signs that fill the last group
	bad    bool
	began  bool
}

func (i *inner) reset() {
	i.scanner.reset()
	i.bits, i.digits, i.filled, i.bad, i.began = 0, 0, 0, false, false
}

// base64 takes a byte of the text.
func (i *inner) base64(c byte) {
	i.began = true
	value, ok := sextet(c)
	switch {
	case c == '=' && i.digits >= 2:
		i.filled++
		value = 0
	case !ok || i.filled > 0:
		i.bad = true
		return
	}
	i.bits = i.bits<<6 | value
	if i.digits++; i.digits < 4 {
		return
	}
	for k := range 3 - i.filled {
		i.scanner.read(byte(i.bits >> (16 - 8*k)))
	}
	i.bits, i.digits = 0, 0
}

// end takes the document when the outer one has ended.
func (i *inner) end() {
	switch {
	case !i.began:
	case !i.bad && i.digits == 0 && i.scanner.complete():
		i.event(&i.scanner.found)
	default:
		i.lost()
	}
}

// sextet is the value of a digit of base64.
func sextet(c byte) (uint32, bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return uint32(c - 'A'), true
	case 'a' <= c && c <= 'z':
		return uint32(c-'a') + 26, true
	case '0' <= c && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, false
}
