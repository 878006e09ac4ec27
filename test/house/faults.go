package house

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Answer answers the calls of a pattern with a status. The engine does not get them.
func (p *Proxy) Answer(pattern string, status int) (mend func()) {
	return p.plan(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write([]byte(`{"message":"the proxy was told to answer so"}`))
	})
}

// Drop ends the connection of the calls of a pattern. The engine does not get them.
func (p *Proxy) Drop(pattern string) (mend func()) {
	return p.plan(pattern, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Lose passes the calls of a pattern to the engine, and drops its answers.
func (p *Proxy) Lose(pattern string) (mend func()) {
	return p.plan(pattern, func(_ http.ResponseWriter, r *http.Request) {
		p.engine.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

// Delay keeps the calls of a pattern waiting until mend is called; then the engine gets them.
func (p *Proxy) Delay(pattern string) (mend func()) {
	free := make(chan struct{})
	forget := p.plan(pattern, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-free:
			p.engine.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	})
	return sync.OnceFunc(func() { forget(); close(free) })
}

// plan handles the calls of a pattern by handle, until mend is called. Where several faults fit, the last one counts.
func (p *Proxy) plan(pattern string, handle http.HandlerFunc) (mend func()) {
	f := &fault{pattern, handle}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = slices.DeleteFunc(p.faults, func(other *fault) bool { return other == f })
	}
}
