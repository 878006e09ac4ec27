package credential

import (
	"encoding/json"
	"io"
	"net"
)

// line is a connection between a gateway and its warden. It carries a question, its answer, the next question, and so
// on.
type line struct {
	conn *net.UnixConn
	left io.LimitedReader // bytes that the current message may still have
	in   *json.Decoder
}

func newLine(conn *net.UnixConn) *line {
	l := &line{conn: conn, left: io.LimitedReader{R: conn}}
	l.in = json.NewDecoder(&l.left)
	return l
}

// read reads the next message, which may have most bytes.
func (l *line) read(to any, most int64) error {
	l.left.N = most
	return l.in.Decode(to)
}

func (l *line) write(message any) error { return json.NewEncoder(l.conn).Encode(message) }
