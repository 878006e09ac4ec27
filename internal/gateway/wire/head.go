package wire

import (
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Head is a request's head. It has only one meaning.
type Head struct {
	Method   string
	Path     string // as sent, still escaped; it begins with a slash and has no dot segments
	RawQuery string
	Host     string      // the client's name for this machine, with the port
	Header   http.Header // without fields that belong to this connection only
	Length   int64       // of the body, or Chunked
	Close    bool        // the client wants the connection to end after the answer
	Continue bool        // the client waits for a 100 before it sends the body
	Upgrade  bool        // the client wants another protocol
}

// Chunked is the Length of a body that comes in chunks.
const Chunked = -1

// parseHead parses a head. Each line ends in a line feed.
func parseHead(raw string) (*Head, error) {
	first, rest, _ := strings.Cut(raw, "\n")
	h := &Head{Header: http.Header{}}
	if err := h.requestLine(first); err != nil {
		return nil, err
	}
	for line := range strings.Lines(rest) {
		name, value, err := field(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		h.Header[name] = append(h.Header[name], value)
	}
	for _, judge := range []func() error{h.host, h.framing, h.expect, h.connection} {
		if err := judge(); err != nil {
			return nil, err
		}
	}
	h.Header = Forward(h.Header)
	for _, name := range []string{"Host", "Content-Length", "Expect"} {
		h.Header.Del(name)
	}
	return h, nil
}

func (h *Head) requestLine(line string) error {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return malformed("the request line is not a method, a path and a version with one space between them")
	}
	method, target, version := parts[0], parts[1], parts[2]
	if version != "HTTP/1.1" {
		if !strings.HasPrefix(version, "HTTP/") {
			return malformed("the request line does not end with HTTP/1.1")
		}
		return &Error{http.StatusHTTPVersionNotSupported, "version", "only HTTP/1.1 is spoken here"}
	}
	if method == "" || len(method) > 20 || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
		return malformed("the method is not a word in capital letters")
	}
	if method == http.MethodConnect || method == http.MethodTrace {
		return &Error{http.StatusMethodNotAllowed, "method", "the method " + method + " is not served"}
	}
	path, query, err := parseTarget(target)
	h.Method, h.Path, h.RawQuery = method, path, query
	return err
}

// field splits a line of a head into name and value.
func field(line string) (name, value string, err error) {
	if line[0] == ' ' || line[0] == '\t' {
		return "", "", malformed("a header field is folded over two lines")
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || len(name) > 256 || !all(name, isToken) {
		return "", "", malformed("the name of a header field is empty or has characters that are not allowed there")
	}
	if !all(value, isValue) {
		return "", "", malformed("the value of a header field has a control character in it")
	}
	name = http.CanonicalHeaderKey(name)
	if strings.Contains(name, "_") && ambiguous[http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))] {
		return "", "", malformed("a header field has an underscore where its real name has a hyphen")
	}
	return name, strings.Trim(value, " \t"), nil
}

// ambiguous are fields that some servers also accept with underscores, and that control framing or rights.
var ambiguous = map[string]bool{
	"Content-Length": true, "Transfer-Encoding": true, "Proxy-Authorization": true, "X-Api-Key": true, "X-Goog-Api-Key": true,
	"Content-Type": true, "Content-Encoding": true, "Set-Cookie": true, "Api-Key": true,
}

// host accepts only names of this machine. Another name is meant for another server, or comes from a page in a browser.
func (h *Head) host() error {
	named := h.Header["Host"]
	if len(named) != 1 {
		return malformed("the request must have exactly one Host")
	}
	name := named[0]
	if host, port, err := net.SplitHostPort(name); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || len(port) > 5) { // the gateway writes the port into pages
			return errOtherHost
		}
		name = host
	}
	switch name {
	case "localhost", "127.0.0.1", "::1", "[::1]":
		h.Host = named[0]
		return nil
	}
	return errOtherHost
}

var errOtherHost = &Error{http.StatusMisdirectedRequest, "host", "the Host of a request must be localhost or 127.0.0.1; the route chooses the upstream, not the client"}

// framing finds out where the body ends.
func (h *Head) framing() error {
	lengths, codings := h.Header["Content-Length"], h.Header["Transfer-Encoding"]
	switch {
	case len(lengths) > 0 && len(codings) > 0:
		return malformed("the request has a Content-Length and a Transfer-Encoding")
	case len(lengths) > 1 || len(codings) > 1:
		return malformed("the request says twice how its body is framed")
	case len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return malformed("the only Transfer-Encoding is chunked")
	case len(codings) == 1:
		h.Length = Chunked
	case len(lengths) == 1:
		n, err := strconv.ParseInt(lengths[0], 10, 64)
		if err != nil || !all(lengths[0], isDigit) {
			return malformed("the Content-Length is not a plain number")
		}
		h.Length = n
	}
	if h.Length != 0 && (h.Method == http.MethodGet || h.Method == http.MethodHead) {
		return malformed("a %s has no body", h.Method)
	}
	return nil
}

func (h *Head) expect() error {
	switch expected := h.Header["Expect"]; {
	case len(expected) == 0:
		return nil
	case len(expected) == 1 && strings.EqualFold(expected[0], "100-continue"):
		h.Continue = h.Length != 0
		return nil
	}
	return &Error{http.StatusExpectationFailed, "expect", "the only expectation that is met is 100-continue"}
}

// connection reads the fields about this connection only.
func (h *Head) connection() error {
	h.Upgrade = len(h.Header["Upgrade"]) > 0 || len(h.Header["Http2-Settings"]) > 0
	for _, option := range options(h.Header["Connection"]) {
		switch strings.ToLower(option) {
		case "close":
			h.Close = true
		case "upgrade":
			h.Upgrade = true
		case "host", "content-length", "content-type", "content-encoding", "expect":
			return malformed("Connection names a field that every reader on the way needs")
		}
	}
	return nil
}

func all(s string, ok func(c byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isToken(c byte) bool {
	return isDigit(c) || isLetter(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func isValue(c byte) bool { return c == '\t' || c >= ' ' && c != 0x7f }
