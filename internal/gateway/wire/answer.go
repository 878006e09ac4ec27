package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// WriteContinue tells a client to send the body that it holds back.
func WriteContinue(w io.Writer) error {
	_, err := io.WriteString(w, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

// Answer is the head of an answer.
type Answer struct {
	Status int
	Header http.Header // after Forward
	Length int64       // of the body, or Chunked
	Close  bool        // the connection ends after this answer
}

// WriteHead writes the head in one piece. It ignores the fields of Header that are about framing.
func (a Answer) WriteHead(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %d %s\r\n", a.Status, http.StatusText(a.Status))
	// Writing to a buffer cannot fail.
	_ = a.Header.WriteSubset(&text, map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Connection": true})
	switch {
	case a.Length >= 0 && bodyAllowed(a.Status):
		text.WriteString("Content-Length: " + strconv.FormatInt(a.Length, 10) + "\r\n")
	case a.Length == Chunked:
		text.WriteString("Transfer-Encoding: chunked\r\n")
	}
	if a.Close {
		text.WriteString("Connection: close\r\n")
	}
	text.WriteString("\r\n")
	_, err := w.Write(text.Bytes())
	return err
}

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Pieces writes a chunked body. Each piece is one call of the connection's Write, so no piece waits for the next.
type Pieces struct {
	w     io.Writer
	frame []byte
}

// NewPieces returns Pieces that write to a connection.
func NewPieces(w io.Writer) *Pieces { return &Pieces{w: w} }

// Write writes one piece. It skips an empty piece, because that would end the body.
func (p *Pieces) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	p.frame = strconv.AppendInt(p.frame[:0], int64(len(data)), 16)
	p.frame = append(p.frame, '\r', '\n')
	p.frame = append(p.frame, data...)
	p.frame = append(p.frame, '\r', '\n')
	if _, err := p.w.Write(p.frame); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Close ends the body.
func (p *Pieces) Close() error {
	_, err := io.WriteString(p.w, "0\r\n\r\n")
	return err
}
