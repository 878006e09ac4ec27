package credential

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"torno/internal/gateway/route"
)

// Access lets a gateway ask its Warden. A nil Access is for a gateway that reads credentials itself.
type Access struct {
	mu   sync.Mutex // guards asks and idle
	asks *net.UnixConn
	idle []*line // connections without a question under way
}

// maxIdle bounds the idle connections. The warden serves this many, and many more.
const maxIdle = 8

// NewAccess returns an Access to the warden at the other end of a connection.
func NewAccess(asks *net.UnixConn) *Access { return &Access{asks: asks} }

// Setup returns the most recent text of routes and prices from the watcher.
func (a *Access) Setup(ctx context.Context) ([]byte, error) {
	r, err := a.ask(ctx, ask{What: askSetup})
	return []byte(r.Text), err
}

// Roots returns the text of a route's file of certificates.
func (a *Access) Roots(ctx context.Context, name string) ([]byte, error) {
	r, err := a.ask(ctx, ask{What: askRoots, Route: name})
	return []byte(r.Text), err
}

// Open makes the source of a route's credential, as the function Open does.
func (a *Access) Open(r *route.Route, known *Known) (Source, error) {
	if a == nil {
		return Open(r.Credential, known)
	}
	c := r.Credential
	at := distant{access: a, route: r.Name, of: c}
	if of, ok := programs[c.Kind]; ok {
		return openLogin(distantLogin{at, of}, known)
	}
	return openPlace(c, at, known)
}

// distant is a place that the warden reads.
type distant struct {
	access *Access
	route  string
	of     route.Credential
}

func (d distant) String() string {
	switch {
	case len(d.of.Command) > 0:
		return command(d.of.Command).String()
	case d.of.Name != "":
		return "the credential " + d.of.Name
	}
	return d.of.Path
}

func (d distant) costs() bool { return len(d.of.Command) > 0 }

func (d distant) read(ctx context.Context) (string, error) {
	r, err := d.access.ask(ctx, ask{What: askRead, Route: d.route})
	return r.Text, err
}

// distantLogin is a login whose file the warden keeps.
type distantLogin struct {
	distant
	is program
}

func (d distantLogin) program() program { return d.is }
func (d distantLogin) costs() bool      { return true }

func (d distantLogin) ready(ctx context.Context) error {
	_, err := d.access.ask(ctx, ask{What: askReady, Route: d.route})
	return err
}

func (d distantLogin) lock(ctx context.Context) (unlock func(), held bool, err error) {
	r, l, err := d.access.call(ctx, ask{What: askLock, Route: d.route})
	if err != nil {
		return nil, r.Held, err
	}
	return func() { l.conn.Close() }, false, nil
}

func (d distantLogin) save(ctx context.Context, got *fresh) error {
	_, err := d.access.ask(ctx, ask{What: askSave, Route: d.route, Spent: got.spent.reveal(), Said: got.said.reveal(), At: got.at})
	return err
}

// ask asks a question, and then frees the connection for the next one.
func (a *Access) ask(ctx context.Context, q ask) (reply, error) {
	r, l, err := a.call(ctx, q)
	if err == nil {
		a.keep(l)
	}
	return r, err
}

// ErrNoWarden means that the process that reads credentials for this gateway is gone.
var ErrNoWarden = errors.New("the process that reads credentials for this gateway has ended")

// call asks a question, and returns the answer and the connection. The connection keeps the lock, if the question took
// one. call uses idle connections again.
func (a *Access) call(ctx context.Context, q ask) (r reply, l *line, err error) {
	if l, err = a.line(); err != nil {
		return reply{}, nil, passing(fmt.Errorf("%w: %w", ErrNoWarden, err))
	}
	conn := l.conn
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	if err = l.write(q); err == nil {
		err = l.read(&r, maxReply)
	}
	switch whole := stop() && err == nil; {
	case !whole && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = passing(fmt.Errorf("%w: %w", ErrNoWarden, err))
	case r.Error != "":
		a.keep(l)
		return r, nil, r.failure()
	default:
		return r, l, nil
	}
	conn.Close() // the answer may still come, and must not answer another question
	return reply{}, nil, err
}

// line takes an idle connection to the warden, or makes a new one.
func (a *Access) line() (*line, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.idle) - 1; last >= 0 {
		l := a.idle[last]
		a.idle = a.idle[:last]
		return l, nil
	}
	conn, err := send(a.asks)
	if err != nil {
		return nil, err
	}
	return newLine(conn), nil
}

// keep stores a connection for the next question. It closes a connection that had a large answer, because its buffer
// still holds that answer.
func (a *Access) keep(l *line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.idle) < maxIdle && maxReply-l.left.N <= maxText {
		a.idle = append(a.idle, l)
		return
	}
	l.conn.Close()
}
