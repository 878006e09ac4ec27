package mcp

// idFinder finds the ID of a message that is too long to keep, while the message passes by. The ID is the value of the
// member "id" of the outermost object. idFinder keeps only a few bytes, whatever the message contains.
type idFinder struct {
	depth   int
	text    bool // inside a string
	escaped bool
	key     []byte // the last string of the outermost object
	value   []byte // the value of the member "id"
	taking  bool
}

const maxID = 128 // bytes

func (f *idFinder) write(part []byte) {
	for _, c := range part {
		f.next(c)
	}
}

func (f *idFinder) next(c byte) {
	if f.text {
		f.inText(c)
		return
	}
	switch c {
	case '"':
		f.text = true
		f.key = f.key[:0]
		f.take(c)
	case '{', '[':
		f.depth++
		f.taking = false
	case '}', ']':
		f.depth--
		f.taking = false
	case ',':
		f.taking = false
	case ':':
		f.taking = f.depth == 1 && string(f.key) == "id" && len(f.value) == 0
	case ' ', '\t', '\r', '\n':
	default:
		f.take(c)
	}
}

func (f *idFinder) inText(c byte) {
	f.take(c)
	switch {
	case f.escaped:
		f.escaped = false
	case c == '\\':
		f.escaped = true
	case c == '"':
		f.text = false
		return
	}
	if f.depth == 1 && len(f.key) < maxID {
		f.key = append(f.key, c)
	}
}

func (f *idFinder) take(c byte) {
	if f.taking && len(f.value) <= maxID {
		f.value = append(f.value, c)
	}
}

// found returns the ID as JSON, or nil.
func (f *idFinder) found() []byte {
	if len(f.value) > maxID {
		return nil
	}
	return f.value
}
