package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// These constants bound a server on a port. A session costs little, and ends after it has been idle.
const (
	maxSessions    = 64
	sessionIdle    = time.Hour
	headerTime     = 5 * time.Second
	connectionIdle = 2 * time.Minute
	maxHeader      = 16 << 10
)

// Path is the path of the server on its port.
const Path = "/mcp"

// Listen listens on a loopback address, such as 127.0.0.1:0. It refuses any other address, because anyone who reaches
// the port and has the token counts as the parent.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is not a loopback address of this machine, such as 127.0.0.1:0", address)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// ServeHTTP serves clients that know the token, until ctx ends. It closes the listener.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, token Token) error {
	handler := sdk.NewStreamableHTTPHandler(s.forSession, &sdk.StreamableHTTPOptions{
		Logger: s.log, SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxLine, PropagateRequestCancellation: true,
	})
	server := newHTTPServer(listener.Addr(), token, handler)
	clients, hangUp := withListening(context.Background())
	server.BaseContext = func(net.Listener) context.Context { return clients }
	defer context.AfterFunc(ctx, func() {
		hangUp()
		_ = server.Close() // clients notice it like the death of any server
	})()
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.leave(false))
}

// newHTTPServer makes a server that passes a request on to next only if the request carries the token. A stranger has
// headerTime to show the token, whatever it sends: every request goes through guard first, and only guard lifts the
// deadline.
func newHTTPServer(address net.Addr, token Token, next http.Handler) *http.Server {
	v := &visitors{clients: map[net.Conn]bool{}}
	return &http.Server{
		Handler: guard(address, token, v, next), ConnState: v.follow, ConnContext: withConnection,
		ReadTimeout: headerTime, IdleTimeout: connectionIdle, MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
	}
}

// forSession returns the server for a new session, or nil if there are too many sessions.
func (s *Server) forSession(*http.Request) *sdk.Server {
	n := 0
	for range s.protocol.Sessions() {
		n++
	}
	if n >= maxSessions {
		return nil
	}
	return s.protocol
}

// guard passes on only requests that carry the token and were meant for us. A browser on this machine may show a page
// whose own host name leads to us; such a page sends that name as Host. Any other page sends its Origin. guard refuses
// both.
func guard(address net.Addr, token Token, v *visitors, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch origin := r.Header.Values("Origin"); {
		case !isHere(r.Host, port):
			turnAway(w, "the request names another host; next: use the address that the server has printed", http.StatusForbidden)
		case len(origin) > 1 || len(origin) == 1 && !isOriginHere(origin[0], port):
			turnAway(w, "the request comes from a page of another origin", http.StatusForbidden)
		case r.URL.Path != Path:
			turnAway(w, "there is nothing here; next: the server is at "+Path, http.StatusNotFound)
		case !token.knownTo(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="torno"`)
			turnAway(w, "the token is missing, wrong, or from an earlier start of the server; next: send the token of this start as Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case !v.admit(r):
			turnAway(w, "too many connections with the token are open; next: end other clients", http.StatusServiceUnavailable)
		default:
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // this fails only on a closed connection
			next.ServeHTTP(w, r)
		}
	})
}

// turnAway answers a stranger and ends the connection. It does not wait for the rest of a request, which may never
// come. So a stranger cannot keep a client from its place.
func turnAway(w http.ResponseWriter, text string, code int) {
	w.Header().Set("Connection", "close")
	http.Error(w, text, code)
}

// isHere reports whether a Host is a loopback name with our port.
func isHere(host, port string) bool {
	name, at, err := net.SplitHostPort(host)
	if err != nil || at != port {
		return false
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

func isOriginHere(origin, port string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && isHere(u.Host, port)
}

// Token is the secret that a client of the port must know.
type Token struct{ sum [sha256.Size]byte }

// knownTo reports whether a request carries the token. The time of the comparison reveals nothing about the token.
func (t Token) knownTo(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	scheme, text, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}
