package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"torno/delegation"
)

// lines reads the events of a growing file.
type lines struct {
	file io.ReaderAt
	at   int64 // where the first unread line begins
	buf  []byte
	skip bool // the line is too long for a segment, so it is not ours
}

func newLines(file io.ReaderAt) *lines { return &lines{file: file} }

// next returns the next event; ok is false if the file has no further whole line. A line that is not an event is
// skipped; its number is then missing.
func (l *lines) next() (e delegation.Event, ok bool, err error) {
	for {
		line, whole, err := l.line()
		if err != nil || !whole {
			return e, false, err
		}
		if json.Unmarshal(line, &e) == nil && e.Seq > 0 {
			return e, true, nil
		}
		e = delegation.Event{}
	}
}

// line returns the next whole line.
func (l *lines) line() (line []byte, whole bool, err error) {
	for {
		if line, rest, whole := bytes.Cut(l.buf, []byte("\n")); whole {
			l.at += int64(len(line)) + 1
			l.buf = rest
			if l.skip {
				l.skip, line = false, nil
			}
			return line, true, nil
		}
		if len(l.buf) > delegation.MaxSegment {
			l.at += int64(len(l.buf))
			l.buf, l.skip = nil, true
		}
		more := make([]byte, delegation.MaxSegment)
		n, err := l.file.ReadAt(more, l.at+int64(len(l.buf)))
		l.buf = append(l.buf[:len(l.buf):len(l.buf)], more[:n]...)
		switch {
		case n > 0:
		case errors.Is(err, io.EOF):
			l.buf = nil // the half line is read again when there is more, because it may be cut off meanwhile
			return nil, false, nil
		default:
			return nil, false, err
		}
	}
}
