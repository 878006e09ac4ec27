package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Bounds of a head.
const (
	maxHead   = 64 << 10 // bytes, with the request line
	maxFields = 100
	maxTarget = 8 << 10
)

// Reader reads requests from one connection, one after the other.
type Reader struct{ in *bufio.Reader }

// NewReader returns a Reader of a connection.
func NewReader(conn io.Reader) *Reader { return &Reader{bufio.NewReaderSize(conn, 4<<10)} }

// Await waits for the next byte, and does not consume it.
func (r *Reader) Await() error {
	_, err := r.in.Peek(1)
	return err
}

// Head reads one head. It returns io.EOF if the connection ended before it, and an *Error for a request that it
// refuses.
func (r *Reader) Head() (*Head, error) {
	if err := r.foreign(); err != nil {
		return nil, err
	}
	var raw []byte
	for fields := -1; ; fields++ {
		line, err := r.line(maxHead - len(raw))
		switch {
		case errors.Is(err, io.EOF) && len(raw) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(line) == 0 && fields < 0:
			return nil, malformed("the request begins with an empty line")
		case len(line) == 0:
			return parseHead(string(raw))
		case fields == maxFields:
			return nil, &Error{http.StatusRequestHeaderFieldsTooLarge, "head_too_large", "the request has more than 100 header fields"}
		}
		raw = append(append(raw, line...), '\n')
	}
}

// foreign recognises other protocols by their first bytes, so that the error can name them.
func (r *Reader) foreign() error {
	first, err := r.in.Peek(1)
	if err != nil {
		return err
	}
	if first[0] == 0x16 {
		return malformed("the client speaks TLS; this socket takes http:// only")
	}
	if first[0] != 'P' {
		return nil
	}
	if begin, err := r.in.Peek(len("PRI ")); err == nil && string(begin) == "PRI " {
		return &Error{http.StatusHTTPVersionNotSupported, "version", "HTTP/2 is not spoken here; use HTTP/1.1"}
	}
	return nil
}

// line reads one line of a head, and returns it without its end.
func (r *Reader) line(most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return nil, &Error{http.StatusRequestHeaderFieldsTooLarge, "head_too_large", "the request's head is bigger than 64 KiB"}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		return ended(line)
	}
}

// ended removes the end of a line. It must be CR LF, and the line may hold no other CR and no NUL.
func ended(line []byte) ([]byte, error) {
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return nil, malformed("a line of the head ends without CR LF")
	}
	if bytes.ContainsAny(text, "\r\x00") {
		return nil, malformed("a line of the head has a CR or a NUL in it")
	}
	return text, nil
}
