package house

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a watcher and the engine. It notes each call, and can be told to be as bad as an engine can be.
//
// A call is named by its method and its path without version and ids, as "POST containers/ID/kill"; patterns are those of
// path.Match, and "" is every call.
type Proxy struct {
	Socket string

	testing.TB
	engine  *httputil.ReverseProxy
	mu      sync.Mutex
	calls   []Call
	faults  []*fault
	server  *http.Server
	streams map[net.Conn]string // what each connection is being used for
}

// Call is a call of the watcher.
type Call struct {
	What        string
	Begin, Done time.Time
}

// fault says how the proxy handles the calls of a pattern.
type fault struct {
	pattern string
	handle  func(w http.ResponseWriter, r *http.Request)
}

// NewProxy listens on a socket of its own in front of an engine.
func NewProxy(t testing.TB, e Engine) *Proxy {
	t.Helper()
	p := &Proxy{TB: t, Socket: filepath.Join(t.TempDir(), "proxy.sock"), streams: map[net.Conn]string{}}
	p.engine = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport:     e.HTTP.Transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.Listen()
	t.Cleanup(p.Vanish)
	return p
}

// Host is the proxy's socket as a configuration names it.
func (p *Proxy) Host() string { return "unix://" + p.Socket }

// Listen has the socket there, again after Vanish.
func (p *Proxy) Listen() {
	p.Helper()
	listener, err := net.Listen("unix", p.Socket)
	if err != nil {
		p.Fatal(err)
	}
	server := &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) },
	}
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	go server.Serve(listener)
}

// connection is the key of a request's own connection.
type connection struct{}

// Vanish takes the socket away and ends all that goes through it.
func (p *Proxy) Vanish() {
	p.mu.Lock()
	server := p.server
	p.mu.Unlock()
	os.Remove(p.Socket) // closing does it too, and later
	server.Close()
	p.Cut("")
}

// Cut ends the connections whose calls fit a pattern.
func (p *Proxy) Cut(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, what := range p.streams {
		if fits(pattern, what) {
			c.Close()
		}
	}
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	what, conn := nameOf(r), r.Context().Value(connection{}).(net.Conn)
	p.mu.Lock()
	n := len(p.calls)
	p.calls = append(p.calls, Call{What: what, Begin: time.Now()})
	p.streams[conn] = what
	handle := p.engine.ServeHTTP
	for _, f := range p.faults {
		if fits(f.pattern, what) {
			handle = f.handle
		}
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls[n].Done = time.Now()
		delete(p.streams, conn)
	}()
	handle(w, r)
}

// nameOf names a call.
func nameOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) > 1 && strings.HasPrefix(parts[0], "v1.") {
		parts = parts[1:]
	}
	if len(parts) > 1 && parts[0] == "containers" && parts[1] != "create" && parts[1] != "json" {
		parts[1] = "ID"
	}
	return r.Method + " " + strings.Join(parts, "/")
}

func fits(pattern, what string) bool {
	matched, err := path.Match(pattern, what)
	return pattern == "" || err == nil && matched
}

// Calls are the calls of a pattern since a time.
func (p *Proxy) Calls(pattern string, since time.Time) (found []Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if fits(pattern, c.What) && !c.Begin.Before(since) {
			found = append(found, c)
		}
	}
	return found
}
