package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"torno/internal/gateway/route"
	"torno/internal/trust"
)

// Warden reads credentials for a gateway without rights. The gateway has a user of its own and speaks to the network.
// The warden has the watcher's user and speaks only to that gateway. The gateway names a route, never a place: the
// warden touches only the places that the watcher configured for that route.
type Warden struct {
	Routes func() ([]*route.Route, error) // the watcher's most recent routes
	Setup  func() ([]byte, error)         // their text

	mu   sync.Mutex
	busy map[string]int // by route: questions that are being answered
}

// Questions that the gateway may ask.
const (
	askSetup = "setup"
	askRoots = "roots"
	askRead  = "read"
	askReady = "ready"
	askLock  = "lock"
	askSave  = "save"
)

// ask is a question from the gateway.
type ask struct {
	What  string    `json:"what"`
	Route string    `json:"route,omitempty"`
	Spent string    `json:"spent,omitempty"` // for askSave, as the others below: see fresh
	Said  string    `json:"said,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// reply is the warden's answer.
type reply struct {
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
	Held  bool   `json:"held,omitempty"` // another process has the lock

	Passes bool `json:"passes,omitempty"` // the error is a Passing
}

// failure returns the error that the warden met.
func (r reply) failure() error {
	err := errors.New(strings.TrimSpace(r.Error))
	if r.Passes {
		return passing(err)
	}
	return err
}

const (
	maxLines   = 64       // connections at once; more of them wait
	maxOfRoute = 8        // questions at once; more of them are refused
	maxAsk     = 1 << 20  // bytes
	maxReply   = 64 << 20 // the largest configuration, in JSON
)

// Serve answers questions until the gateway is gone, or ctx ends. asks receives connections, and the gateway keeps
// their other ends. Each connection carries one question after the other.
func (w *Warden) Serve(ctx context.Context, asks *net.UnixConn) error {
	stop := context.AfterFunc(ctx, func() { asks.Close() })
	defer stop()
	places := make(chan struct{}, maxLines)
	for {
		conn, err := receive(asks)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case conn == nil:
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return conn.Close()
		}
		go func() {
			defer func() { <-places }()
			defer conn.Close()
			for l := newLine(conn); w.one(ctx, l); {
			}
		}()
	}
}

// one answers one question, and returns true if another question may follow. If the question took a lock, it stays
// until the gateway closes the connection.
func (w *Warden) one(ctx context.Context, l *line) (again bool) {
	var a ask
	if l.read(&a, maxAsk) != nil {
		return false
	}
	r, unlock, err := w.answer(ctx, a)
	if unlock != nil {
		defer unlock()
	}
	if err != nil {
		_, r.Passes = errors.AsType[*Passing](ofSystem(err))
		r.Error = err.Error()
	}
	if l.write(r) != nil {
		return false
	}
	if unlock != nil {
		_, _ = io.Copy(io.Discard, l.conn) // until the gateway closes the connection
	}
	return unlock == nil
}

func (w *Warden) answer(ctx context.Context, a ask) (r reply, unlock func(), err error) {
	if a.What == askSetup {
		text, err := w.Setup()
		return reply{Text: string(text)}, nil, err
	}
	routes, err := w.Routes()
	if err != nil {
		return reply{}, nil, err
	}
	at := slices.IndexFunc(routes, func(r *route.Route) bool { return r.Name == a.Route })
	if at < 0 {
		return reply{}, nil, fmt.Errorf("the watcher has named no route %q", a.Route)
	}
	of := routes[at]
	leave, err := w.enter(of.Name)
	if err != nil {
		return reply{}, nil, err
	}
	defer leave()
	if a.What == askRoots && of.Roots != "" {
		text, err := ReadRoots(of)
		return reply{Text: string(text)}, nil, err
	}
	if of.Credential.Kind == "" {
		return reply{}, nil, fmt.Errorf("the route %s has no credential", of.Name)
	}
	if p, ok := programs[of.Credential.Kind]; ok {
		return ofLogin(ctx, a, loginFile{p, of.Credential.Path})
	}
	p, err := placeOf(of.Credential)
	if err == nil && a.What != askRead {
		err = fmt.Errorf("%q cannot be asked of the route %s", a.What, of.Name)
	}
	if err != nil {
		return reply{}, nil, err
	}
	r.Text, err = p.read(ctx)
	if of.Credential.Kind == "aws" {
		r.Text = onlyKeys(r.Text)
	}
	return r, nil, err
}

// maxRoots bounds the certificates of a route, in bytes.
const maxRoots = 1 << 20

// ReadRoots reads the certificates that a route trusts. It refuses a file that another user could replace: the gateway
// sends the credential to every server that these certificates vouch for.
func ReadRoots(r *route.Route) ([]byte, error) { return trust.Places().ReadFile(r.Roots, maxRoots) }

// enter counts a question about a route, and refuses it above maxOfRoute. A file may be at a place where reading hangs.
// The gateway then gives up and asks again, and those questions must not use up all connections and block other routes.
func (w *Warden) enter(name string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[name] >= maxOfRoute {
		return nil, passing(fmt.Errorf("the credential of the route %s is being read %d times already, and no read has ended yet", name, maxOfRoute))
	}
	if w.busy == nil {
		w.busy = map[string]int{}
	}
	w.busy[name]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.busy[name]--; w.busy[name] == 0 {
			delete(w.busy, name)
		}
	}, nil
}

// ofLogin answers a question about a login.
func ofLogin(ctx context.Context, a ask, f loginFile) (r reply, unlock func(), err error) {
	switch a.What {
	case askRead:
		r.Text, err = f.read(ctx)
		r.Text = f.of.onlyTokens(r.Text)
	case askReady:
		err = f.ready(ctx)
	case askLock:
		unlock, r.Held, err = f.lock(ctx)
	case askSave:
		err = f.save(ctx, &fresh{spent: secretOf(a.Spent), said: secretOf(a.Said), at: a.At})
	default:
		err = fmt.Errorf("%q cannot be asked of a login", a.What)
	}
	return r, unlock, err
}
