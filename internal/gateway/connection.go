package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"torno/internal/gateway/route"
	"torno/internal/gateway/wire"
)

// Time limits for a child.
const (
	toRest   = 5 * time.Minute  // between two requests
	toHead   = 10 * time.Second // for the whole head
	toSend   = time.Minute      // between two parts of a body
	toTake   = 2 * time.Minute  // between two parts of an answer that it reads
	toLinger = time.Second      // for bytes that a client still sends after a refusal
)

// connection is one connection of a child. It carries one request after the other.
type connection struct {
	door *door
	conn net.Conn
	in   *wire.Reader
}

// serve answers the requests of a connection.
func (d *door) serve(conn net.Conn) {
	c := &connection{door: d, conn: conn, in: wire.NewReader(conn)}
	stop := context.AfterFunc(d.ctx, func() { conn.Close() })
	defer stop()
	for c.rest() && c.request() {
	}
}

// rest waits for the next request.
func (c *connection) rest() bool {
	if !c.door.rests(c, true) {
		return false
	}
	defer c.door.rests(c, false)
	return c.conn.SetReadDeadline(time.Now().Add(toRest)) == nil && c.in.Await() == nil
}

// request reads one request and answers it. It returns true if another request may follow.
func (c *connection) request() (again bool) {
	c.door.begins()
	x := &exchange{c: c, door: c.door, spec: c.door.spec(), began: time.Now()}
	x.event = Event{At: x.began, Door: c.door.id}
	x.hold.door, x.hold.all = &c.door.bodies, &c.door.g.bodies
	defer x.finish()
	if err := c.conn.SetReadDeadline(time.Now().Add(toHead)); err != nil {
		return false
	}
	head, err := c.in.Head()
	if err != nil {
		x.api = c.api(x.spec)
		return x.unread(err)
	}
	x.event.Method = strings.Clone(head.Method) // the event outlives the head
	return x.carry(head)
}

// api returns the API whose form a refusal takes while the route is not known: the API of the door's first route.
func (c *connection) api(spec Spec) route.API {
	if u, ok := c.door.g.route(spec.Routes[0].Route); ok {
		return u.Route.API
	}
	return route.Plain
}

// readBody reads a body. Each part of it gets its own time.
func (c *connection) readBody(body io.Reader, hold *held) ([]byte, error) {
	var whole bytes.Buffer
	part := make([]byte, 16<<10)
	for {
		if err := c.conn.SetReadDeadline(time.Now().Add(toSend)); err != nil {
			return nil, err
		}
		n, err := body.Read(part)
		if n > 0 {
			if err := hold.grow(int64(n)); err != nil {
				return nil, err
			}
			whole.Write(part[:n])
		}
		if errors.Is(err, io.EOF) {
			return whole.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Write writes to the client. Each part of an answer gets its own time.
func (c *connection) Write(p []byte) (int, error) {
	if err := c.conn.SetWriteDeadline(time.Now().Add(toTake)); err != nil {
		return 0, err
	}
	return c.conn.Write(p)
}

// linger reads for a moment the bytes that a client still sends after a refusal. If the connection were closed while
// unread bytes wait in it, the client would lose the answer.
func (c *connection) linger() {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the connection ends either way
	}
	if c.conn.SetReadDeadline(time.Now().Add(toLinger)) == nil {
		_, _ = io.CopyN(io.Discard, c.conn, 1<<20) // these bytes do not count
	}
}

var errGone = errors.New("the client has gone")

// watch cancels ctx when the client leaves while it waits for its answer. stop ends the watch; call it before the
// connection is read again.
func (c *connection) watch(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	_ = c.conn.SetReadDeadline(time.Time{}) // if this fails, the next read fails too
	go func() {
		defer close(done)
		if err := c.in.Await(); err != nil {
			cancel(fmt.Errorf("%w: %w", errGone, err))
		}
	}()
	return watched, func() {
		_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // wakes the goroutine above; nobody else reads now
		<-done
		cancel(context.Canceled)
	}
}

// unread answers a request that could not be read to its end.
func (x *exchange) unread(err error) bool {
	x.closes = true
	var refused *wire.Error
	var stalled net.Error
	switch {
	case errors.As(err, &refused):
		x.refuse(route.Refusal{Status: refused.Status, Code: refused.Code, Text: refused.Text})
	case errors.Is(err, errMemory):
		x.header = http.Header{"Retry-After": {"1"}}
		x.refuse(route.Refusal{Status: http.StatusServiceUnavailable, Code: "busy", Text: err.Error()})
	case errors.As(err, &stalled) && stalled.Timeout():
		x.refuse(route.Refusal{Status: http.StatusRequestTimeout, Code: "stalled", Text: "the request did not end in time"})
	default:
		x.event.Code = x.gone()
		return false
	}
	x.c.linger()
	return false
}
