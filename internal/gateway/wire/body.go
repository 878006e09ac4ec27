package wire

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// Body returns a reader of a request's body. After it returned io.EOF, the next head may be read. It returns
// io.ErrUnexpectedEOF if the client left, and an *Error if the framing is wrong or the body is bigger than most.
func (r *Reader) Body(h *Head, most int64) io.Reader {
	switch {
	case h.Length > most:
		return failing{tooLarge()}
	case h.Length == Chunked:
		return &chunked{r: r, most: most}
	}
	return &exactly{r: r, left: h.Length}
}

func tooLarge() *Error {
	return &Error{http.StatusRequestEntityTooLarge, "body_too_large", "the request's body is bigger than the route allows"}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// exactly reads a body whose length is known.
type exactly struct {
	r    *Reader
	left int64
}

func (b *exactly) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.r.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, cutOff(err)
}

// chunked reads a body in chunks. It refuses extensions and trailers, because two readers may understand them
// differently.
type chunked struct {
	r     *Reader
	most  int64 // bytes that may still come
	left  int64 // bytes left of this chunk
	begun bool  // a chunk was read, so its end comes before the next size
	err   error
}

func (b *chunked) Read(p []byte) (n int, err error) {
	if b.left == 0 && b.err == nil {
		b.err = b.next()
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err = b.r.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.err = cutOff(err)
	return n, b.err
}

// next reads the size of the next chunk. The last chunk has the size 0 and is followed by an empty line.
func (b *chunked) next() error {
	if b.begun {
		if err := b.emptyLine(); err != nil {
			return err
		}
	}
	b.begun = true
	size, err := b.size()
	if err != nil {
		return err
	}
	if size == 0 {
		if err := b.emptyLine(); err != nil {
			return err
		}
		return io.EOF
	}
	if size > b.most {
		return tooLarge()
	}
	b.left, b.most = size, b.most-size
	return nil
}

// maxSizeLine is the length of the longest line with a size.
const maxSizeLine = len("7fffffff\r\n")

func (b *chunked) size() (int64, error) {
	line, err := b.shortLine(maxSizeLine)
	if err != nil {
		return 0, err
	}
	size, err := strconv.ParseInt(string(line), 16, 64)
	if err != nil || line[0] == '+' || line[0] == '-' {
		return 0, malformed("the size of a chunk is not a plain hexadecimal number of at most eight digits")
	}
	return size, nil
}

func (b *chunked) emptyLine() error {
	line, err := b.shortLine(maxSizeLine)
	if err == nil && len(line) > 0 {
		return malformed("a chunk does not have the size that it states, or trailers follow the last chunk")
	}
	return err
}

// shortLine reads one line of bounded length, and not a byte more.
func (b *chunked) shortLine(most int) ([]byte, error) {
	line := make([]byte, 0, most)
	for len(line) < most {
		c, err := b.r.in.ReadByte()
		if err != nil {
			return nil, cutOff(err)
		}
		line = append(line, c)
		if c == '\n' {
			text, ok := bytes.CutSuffix(line, []byte("\r\n"))
			if !ok || bytes.ContainsAny(text, "\r\x00") {
				return nil, malformed("a line between chunks does not end with CR LF")
			}
			return text, nil
		}
	}
	return nil, malformed("a line between chunks is too long; extensions and trailers are not allowed")
}

// cutOff turns an EOF inside of a body into io.ErrUnexpectedEOF.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
