package adapter

import "bytes"

// maxLine is the longest line that the adapter takes from an agent, in bytes.
const maxLine = 10_000_000

// keptBuffer bounds the buffer that a splitter keeps between lines, in bytes.
const keptBuffer = 1 << 20

// splitter splits a stream into lines. It holds at most one line, and never a line that is too long.
type splitter struct {
	most    int
	whole   func(line []byte) // gets a line without its newline; valid until it returns
	tooLong func(length int64)

	held   []byte
	length int64 // of a line that is too long: its bytes so far; otherwise 0
}

func (s *splitter) add(data []byte) {
	for {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		s.part(line, ended)
		if !ended {
			return
		}
		data = rest
	}
}

// part takes a part of a line. ended says that the line ends here.
func (s *splitter) part(part []byte, ended bool) {
	switch {
	case s.length > 0 || len(s.held)+len(part) > s.most:
		s.length += int64(len(s.held) + len(part))
		s.held = nil
	case ended && len(s.held) == 0:
		s.whole(part)
		return
	default:
		s.held = append(s.held, part...)
	}
	if ended {
		s.end()
	}
}

// drop forgets the line that has begun.
func (s *splitter) drop() { s.length, s.held = 0, nil }

// end completes the line that has begun, at a newline or at the end of the stream.
func (s *splitter) end() {
	if s.length > 0 {
		s.tooLong(s.length)
	} else if len(s.held) > 0 {
		s.whole(s.held)
	}
	s.length, s.held = 0, s.held[:0]
	if cap(s.held) > keptBuffer {
		s.held = nil
	}
}
