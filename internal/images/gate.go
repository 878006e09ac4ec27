package images

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// gate carries every request for one registry, including requests that the registry causes by a redirect or by naming a
// token server.
type gate struct {
	inner    http.RoundTripper
	own      *http.Transport // closed with the gate; nil if the caller brought the transport
	registry string          // host, and port if it has one
	patience time.Duration
}

func newGate(registry string, o Options) *gate {
	g := &gate{inner: o.Transport, registry: registry, patience: o.Patience}
	if g.inner == nil {
		g.own = http.DefaultTransport.(*http.Transport).Clone()
		g.inner = g.own
	}
	return g
}

func (g *gate) close() {
	if g.own != nil {
		g.own.CloseIdleConnections()
	}
}

func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := g.admit(request); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	s := &steady{ctx: ctx, cancel: cancel, patience: g.patience, left: boundOf(ctx)}
	s.watch()
	response, err := g.inner.RoundTrip(request.WithContext(ctx))
	s.rest(0)
	if err != nil {
		defer cancel(nil)
		return nil, s.why(err)
	}
	s.body = response.Body
	response.Body = s
	return response, nil
}

// admit decides which addresses we contact. With https: the registry itself, and any other host that is not private.
// With http: only the registry, and only if it is on this machine.
func (g *gate) admit(request *http.Request) error {
	u := request.URL
	home := u.Host == g.registry
	switch {
	case u.Scheme == "https" && (home || !private(u.Hostname())):
		return nil
	case u.Scheme == "http" && home && loopback(u.Hostname()):
		return nil
	case home:
		return problem(Astray, "the registry %s does not speak https, and is not on this machine", g.registry)
	}
	return problem(Astray, "the registry %s redirects to %s", g.registry, quoted(u.Scheme+"://"+u.Host))
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// private reports whether host is written as a private address, or is localhost. A name that resolves to a private
// address is not private here, because its server needs a certificate for that name.
func private(host string) bool {
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost"
	}
	a := address.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast()
}

// steady reads the body of a response up to a bound, and gives up if the body comes too slowly.
type steady struct {
	body     io.ReadCloser
	ctx      context.Context
	cancel   context.CancelCauseFunc
	patience time.Duration
	left     int64

	timer  *time.Timer
	since  time.Time
	waited time.Duration // time spent waiting for the registry since got was zero, without the reader's own time
	got    int64
}

func tooSlow(patience time.Duration) *Error {
	return problem(Slow, "the registry sent almost nothing within %v", patience)
}

// watch begins a wait for the registry. rest ends it, after n bytes have come.
func (s *steady) watch() {
	s.since = time.Now()
	s.timer = time.AfterFunc(s.patience, func() { s.cancel(tooSlow(s.patience)) })
}

func (s *steady) rest(n int) {
	s.timer.Stop()
	s.waited += time.Since(s.since)
	s.got += int64(n)
}

func (s *steady) Read(p []byte) (int, error) {
	if s.waited >= s.patience {
		if s.got < slowest {
			s.cancel(tooSlow(s.patience))
			return 0, s.why(nil)
		}
		s.waited, s.got = 0, 0
	}
	if s.left <= 0 {
		return 0, problem(Mismatch, "the registry sends more data than it should")
	}
	s.watch()
	n, err := s.body.Read(p[:min(int64(len(p)), s.left)])
	s.rest(n)
	s.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.why(err)
	}
	return n, err
}

// why returns our reason if we gave up, and otherwise the error itself.
func (s *steady) why(err error) error {
	if e, ok := errors.AsType[*Error](context.Cause(s.ctx)); ok {
		return e
	}
	return err
}

func (s *steady) Close() error {
	defer s.cancel(nil)
	return s.body.Close()
}

type boundKey struct{}

// withBound sets how many bytes the body of a response may have, instead of maxDocument.
func withBound(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, boundKey{}, n)
}

func boundOf(ctx context.Context) int64 {
	if n, ok := ctx.Value(boundKey{}).(int64); ok {
		return n
	}
	return maxDocument
}
