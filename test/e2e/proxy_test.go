package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/test/house"
)

// tap stands between a watcher and the engine and notes each call: what, when it came, when its answer was complete.
type tap struct {
	socket string
	mu     sync.Mutex
	calls  []call
}

type call struct {
	what        string // method and path without the version and ids
	begin, done time.Time
}

// newTap listens on a socket of its own in front of the engine.
func newTap(t testing.TB, e house.Engine) *tap {
	t.Helper()
	tp := &tap{socket: filepath.Join(t.TempDir(), "tap.sock")}
	listener, err := net.Listen("unix", tp.socket)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport:     e.HTTP.Transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := tp.note(r)
		defer tp.finish(n)
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Shutdown(context.Background()); server.Close() })
	return tp
}

func (tp *tap) note(r *http.Request) int {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) > 1 && strings.HasPrefix(parts[0], "v1.") {
		parts = parts[1:]
	}
	if len(parts) > 1 && parts[0] == "containers" && parts[1] != "create" && parts[1] != "json" {
		parts[1] = "ID"
	}
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.calls = append(tp.calls, call{what: r.Method + " " + strings.Join(parts, "/"), begin: time.Now()})
	return len(tp.calls) - 1
}

func (tp *tap) finish(n int) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.calls[n].done = time.Now()
}

// since are the calls from a position on; mark is the position now.
func (tp *tap) since(mark int) []call {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return append([]call(nil), tp.calls[mark:]...)
}

func (tp *tap) mark() int {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	return len(tp.calls)
}
