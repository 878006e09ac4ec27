package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Time limits of a connection, and how many connections may be idle.
const (
	toConnect = 10 * time.Second
	toShake   = 10 * time.Second
	idleFor   = 90 * time.Second
	idleMost  = 16
)

const defaultHeader = 64 << 10

// Rule says where a transport may connect to, and which certificates it trusts.
type Rule struct {
	Host      string // "api.example.com", or with a port
	Plain     bool   // http, without TLS
	Private   bool   // loopback, private and shared addresses may be dialled
	Roots     []byte // PEM; the only trusted authorities, in place of the system's
	Pins      []string
	MaxHeader int64         // of an answer's head; 0: 64 KiB
	Silence   time.Duration // the longest time without a byte; 0: no bound
}

// Errors that a Transport returns, wrapped, if an upstream or a request breaks the rules.
var (
	ErrRedirect = errors.New("the upstream redirects, and a redirect is not followed")
	ErrUpgrade  = errors.New("the upstream wants to speak another protocol")
	ErrStatus   = errors.New("the upstream answers with a status that HTTP does not have")
	ErrHost     = errors.New("the request is for another host than the route's")
)

// Transport sends requests to one host.
type Transport struct {
	rule Rule
	http *http.Transport
}

// Transport makes a transport that follows the rule.
func (r Rule) Transport() (*Transport, error) {
	conf, err := r.tls()
	if err != nil {
		return nil, err
	}
	if r.MaxHeader <= 0 {
		r.MaxHeader = defaultHeader
	}
	one := new(http.Protocols)
	one.SetHTTP1(true)
	return &Transport{rule: r, http: &http.Transport{
		DialContext:            r.dial,
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    toShake,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    idleMost,
		IdleConnTimeout:        idleFor,
		ResponseHeaderTimeout:  r.Silence,
		MaxResponseHeaderBytes: r.MaxHeader,
		Protocols:              one,
	}}, nil
}

// RoundTrip sends one request, once.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	scheme := "https"
	if t.rule.Plain {
		scheme = "http"
	}
	if req.URL.Scheme != scheme || !strings.EqualFold(req.URL.Host, t.rule.Host) || req.Host != "" && !strings.EqualFold(req.Host, t.rule.Host) {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must close the body, even if it does not read it
		}
		return nil, ErrHost
	}
	once := req.Clone(req.Context())
	once.GetBody = nil // without GetBody, Go never sends a body twice
	answer, err := t.http.RoundTrip(once)
	if err != nil {
		return nil, err
	}
	switch code := answer.StatusCode; {
	case code == http.StatusSwitchingProtocols:
		err = ErrUpgrade
	case code < 200, code > 599:
		err = ErrStatus // a reader could take such a status for success, for an error, or for no answer
	case code >= 300 && code < 400 && code != http.StatusNotModified:
		err = fmt.Errorf("%w (%d)", ErrRedirect, code) // the target is the upstream's text, and may hold anything
	}
	if err != nil {
		_ = answer.Body.Close() // its content is not needed
		return nil, err
	}
	return answer, nil
}

// CloseIdleConnections closes all idle connections.
func (t *Transport) CloseIdleConnections() { t.http.CloseIdleConnections() }

// dial connects to one of the current addresses of a name.
func (r Rule) dial(ctx context.Context, network, to string) (net.Conn, error) {
	d := net.Dialer{Timeout: toConnect, Control: r.control}
	c, err := d.DialContext(ctx, network, to)
	if err != nil || r.Silence <= 0 {
		return c, err
	}
	return &impatient{c, r.Silence}, nil
}

// control judges the address of a socket just before it connects.
func (r Rule) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%s is no way to an upstream", network)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return judge(at.Addr(), r.Private)
}

// impatient is a connection that fails when no byte passes for a while.
type impatient struct {
	net.Conn
	silence time.Duration
}

func (c *impatient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also extends the deadline of a read that began while the connection was idle.
func (c *impatient) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
