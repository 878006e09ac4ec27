package usage

// inner reads a document inside of another one, where it is a text in base64.
type inner struct {
	scanner scanner
	event   func(*found)
	lost    func()

	bits   uint32
	digits int // digits in the current group of four
	filled int // padding signs in the last group
	bad    bool
	began  bool
}

func (i *inner) reset() {
	i.scanner.reset()
	i.bits, i.digits, i.filled, i.bad, i.began = 0, 0, 0, false, false
}

// base64 takes the next byte of the text.
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

// end takes the document after the outer one has ended.
func (i *inner) end() {
	switch {
	case !i.began:
	case !i.bad && i.digits == 0 && i.scanner.complete():
		i.event(&i.scanner.found)
	default:
		i.lost()
	}
}

// sextet returns the value of a base64 digit.
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
