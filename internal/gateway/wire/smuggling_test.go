package wire

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// attack is a request that two readers may read in two ways, or that chooses what is not the client's to choose.
type attack struct {
	name, raw string
	status    int
	code      string
	elsewhere bool // the server of net/http hands it to its handler: the attack is alive
}

// with is a request that is in order, but for what is added to its head, and has what follows behind it.
func with(fields, behind string) string {
	return "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n" + behind
}

func at(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n" }

const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"

var attacks = []attack{
	// Where does the body end?
	{"a length and chunks", with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+hidden), 400, "malformed", true},
	{"chunks and a length", with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"+hidden), 400, "malformed", true},
	{"two lengths", with("Content-Length: 4\r\nContent-Length: 5\r\n", "12345"), 400, "malformed", false},
	{"the same length twice", with("Content-Length: 5\r\nContent-Length: 5\r\n", "12345"), 400, "malformed", true},
	{"a list of lengths", with("Content-Length: 5, 5\r\n", "12345"), 400, "malformed", false},
	{"a length with a sign", with("Content-Length: +5\r\n", "12345"), 400, "malformed", false},
	{"a negative length", with("Content-Length: -1\r\n", ""), 400, "malformed", false},
	{"a length in hexadecimal", with("Content-Length: 0x5\r\n", "12345"), 400, "malformed", false},
	{"an empty length", with("Content-Length:\r\n", ""), 400, "malformed", false},
	{"a length of 2^64", with("Content-Length: 18446744073709551616\r\n", ""), 400, "malformed", false},
	{"a length with an underscore", with("Content_Length: 5\r\n", "12345"), 400, "malformed", true},
	{"a coding with an underscore", with("Transfer_Encoding: chunked\r\n", ""), 400, "malformed", true},
	{"two codings", with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400, "malformed", false},
	{"chunked twice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400, "malformed", false},
	{"an unknown coding", with("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 400, "malformed", false},
	{"a coding behind a vertical tab", with("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"), 400, "malformed", false},
	{"a space before the colon", with("Content-Length : 5\r\n", "12345"), 400, "malformed", false},
	{"a body behind GET", "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345", 400, "malformed", true},
	{"Connection takes the length away", with("Content-Length: 5\r\nConnection: content-length\r\n", "12345"), 400, "malformed", true},
	// Where does the head end?
	{"a folded field", with("X-A: b\r\n c: d\r\n", ""), 400, "malformed", true},
	{"a folded first field", "POST / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400, "malformed", false},
	{"bare line feeds", strings.ReplaceAll(with("", ""), "\r\n", "\n"), 400, "malformed", true},
	{"one bare line feed", with("X-A: b\nX-C: d\r\n", ""), 400, "malformed", true},
	{"a bare carriage return", with("X-A: b\rX-C: d\r\n", ""), 400, "malformed", false},
	{"a NUL in a value", with("X-A: b\x00c\r\n", ""), 400, "malformed", false},
	{"a NUL in a name", with("X-\x00A: b\r\n", ""), 400, "malformed", false},
	{"an empty name", with(": b\r\n", ""), 400, "malformed", false},
	{"no colon", with("X-A\r\n", ""), 400, "malformed", false},
	{"an empty line first", "\r\n" + with("", ""), 400, "malformed", false},
	// Which host is asked?
	{"absolute form", at("http://169.254.169.254/latest"), 400, "malformed", true},
	{"an authority", "CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method", true},
	{"the asterisk", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed", false},
	{"an authority in the path", at("//evil.example/v1"), 400, "malformed", true},
	{"another host", "GET / HTTP/1.1\r\nHost: metadata.google.internal\r\n\r\n", 421, "host", true},
	{"a host with a user", "GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n", 421, "host", false},
	{"a host that begins well", "GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421, "host", true},
	{"a port that is none", "GET / HTTP/1.1\r\nHost: localhost:8x\r\n\r\n", 421, "host", true},
	{"a port that fills the pages it is written into", "GET / HTTP/1.1\r\nHost: localhost:" + strings.Repeat("0", 60_000) + "\r\n\r\n", 421, "host", true},
	{"two hosts", with("Host: localhost\r\n", ""), 400, "malformed", false},
	{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "malformed", false},
	{"TRACE, which answers with the credential", "TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method", true},
	// Which path?
	{"dots", at("/v1/../admin"), 400, "malformed", true},
	{"one dot", at("/v1/./admin"), 400, "malformed", true},
	{"escaped dots", at("/v1/%2e%2e/admin"), 400, "malformed", true},
	{"half escaped dots", at("/v1/.%2E/admin"), 400, "malformed", true},
	{"dots behind an escaped slash", at("/v1/a%2f..%2fadmin"), 400, "malformed", true},
	{"dots before a parameter", at("/v1/..;/admin"), 400, "malformed", true},
	{"escaped twice", at("/v1/%252e%252e/admin"), 400, "malformed", true},
	{"an escaped backslash", at("/v1/..%5cadmin"), 400, "malformed", true},
	{"a backslash", at(`/v1/..\admin`), 400, "malformed", true},
	{"an escaped NUL", at("/v1/a%00b"), 400, "malformed", true},
	{"an escaped line", at("/v1/a%0d%0aX-A:%20b"), 400, "malformed", true},
	{"an escaped line in the query", at("/v1?a=%0d%0a"), 400, "malformed", true},
	{"a long form of a dot", at("/v1/%c0%ae%c0%ae/admin"), 400, "malformed", true},
	{"two slashes", at("/v1//admin"), 400, "malformed", true},
	{"a fragment", at("/v1#/../admin"), 400, "malformed", true},
	{"half an escape", at("/v1/%2"), 400, "malformed", false},
	{"a space", at("/v1/a b"), 400, "malformed", false},
	{"eight bits", at("/v1/\xff"), 400, "malformed", true},
	{"a path without end", at("/" + strings.Repeat("a", 9<<10)), 414, "head_too_large", true},
	// Which language?
	{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version", true},
	{"HTTP/1.0", "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 505, "version", true},
	{"HTTP/0.9", "GET /\r\n\r\n", 400, "malformed", false},
	{"HTTP/1.10", "GET / HTTP/1.10\r\nHost: localhost\r\n\r\n", 505, "version", false},
	{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "malformed", false},
	{"a method in small letters", "get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed", true},
	{"a tab in the request line", "GET\t/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed", false},
	{"two spaces in the request line", "GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed", false},
	{"another expectation", with("Expect: 200-ok\r\n", ""), 417, "expect", false},
	// How much?
	{"a field of a megabyte", with("X-A: "+strings.Repeat("b", 1<<20)+"\r\n", ""), 431, "head_too_large", false},
	{"a line of 65 KiB", with("X-A: "+strings.Repeat("b", 65<<10)+"\r\n", ""), 431, "head_too_large", true},
	{"a hundred fields and one", with(strings.Repeat("X-A: b\r\n", 100), ""), 431, "head_too_large", true},
	{"a million fields", with(strings.Repeat("a: b\r\n", 1_000_000), ""), 431, "head_too_large", false},
	// Bodies.
	{"two gigabytes", with("Content-Length: 2147483648\r\n", strings.Repeat("a", 100)), 413, "body_too_large", true},
	{"a chunk of two gigabytes", with("Transfer-Encoding: chunked\r\n", "7fffffff\r\naaaa"), 413, "body_too_large", true},
	{"chunks that add up", with("Transfer-Encoding: chunked\r\n", strings.Repeat("400\r\n"+strings.Repeat("a", 1024)+"\r\n", 2)+"0\r\n\r\n"), 413, "body_too_large", true},
	{"an extension of a chunk", with("Transfer-Encoding: chunked\r\n", "1;a=b\r\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"an extension that ends with a line feed", with("Transfer-Encoding: chunked\r\n", "1;\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"trailers", with("Transfer-Encoding: chunked\r\nTrailer: X-A\r\n", "0\r\nX-A: b\r\n\r\n"), 400, "malformed", true},
	{"a chunk that ends with a line feed", with("Transfer-Encoding: chunked\r\n", "1\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"a chunk that is longer than it says", with("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n"), 400, "malformed", true},
	{"a size with a sign", with("Transfer-Encoding: chunked\r\n", "+1\r\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"a size with 0x", with("Transfer-Encoding: chunked\r\n", "0x1\r\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"a size with spaces", with("Transfer-Encoding: chunked\r\n", "1  \r\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"a size with zeros", with("Transfer-Encoding: chunked\r\n", strings.Repeat("0", 20)+"1\r\na\r\n0\r\n\r\n"), 400, "malformed", true},
	{"no size", with("Transfer-Encoding: chunked\r\n", "\r\na\r\n0\r\n\r\n"), 400, "malformed", true},
}

// TestAttacks: each is refused with its own status, and the server of net/http shows which of them are alive.
func TestAttacks(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			_, _, err := readAll(strings.NewReader(a.raw), 2000)
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatalf("it was not refused: %v", err)
			}
			if refused.Status != a.status || refused.Code != a.code {
				t.Errorf("refused as %d %s (%s), want %d %s", refused.Status, refused.Code, refused.Text, a.status, a.code)
			}
			if handled := oracle(t, a.raw); handled != a.elsewhere {
				t.Errorf("handled by net/http: %v, want %v", handled, a.elsewhere)
			}
		})
	}
}

// TestWhatIsInOrder: the same requests without what is wrong with them pass, so it is that which is refused.
func TestWhatIsInOrder(t *testing.T) {
	for name, raw := range map[string]string{
		"no body":          with("", ""),
		"a length":         with("Content-Length: 5\r\n", "12345"),
		"chunks":           with("Transfer-Encoding: chunked\r\n", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
		"hexadecimal":      with("Transfer-Encoding: chunked\r\n", "A\r\n0123456789\r\n0\r\n\r\n"),
		"an escaped slash": at("/@scope%2fname"),
		"a query":          at("/v1/messages?beta=true"),
		"a port":           "GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n",
		"six":              "GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n",
		"100 fields":       with(strings.Repeat("X-A: b\r\n", 99), ""),
		"eight bits":       with("X-Codex-Turn-Metadata: {\"dir\":\"/home/ä\"}\r\nsession_id: 1\r\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(raw + hidden))
			head, err := r.Head()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(r.Body(head, 2000)); err != nil {
				t.Fatal(err)
			}
			if next, err := r.Head(); err != nil || next.Path != "/hidden" {
				t.Errorf("what follows was not found: %v, %v", next, err)
			}
			if !oracle(t, raw) {
				t.Error("net/http does not handle it")
			}
		})
	}
}

func readAll(conn io.Reader, most int64) (*Head, []byte, error) {
	r := NewReader(conn)
	head, err := r.Head()
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body(head, most))
	return head, body, err
}

// oracle says whether the server of net/http hands a request to its handler.
func oracle(t *testing.T, raw string) bool {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var handled atomic.Bool
	server := &http.Server{
		MaxHeaderBytes: maxHead,
		ErrorLog:       log.New(io.Discard, "", 0),
		Handler:        http.HandlerFunc(func(http.ResponseWriter, *http.Request) { handled.Store(true) }),
	}
	defer server.Close()
	go server.Serve(listener)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { // the server may stop reading at any byte
		io.WriteString(conn, raw)
		conn.(*net.TCPConn).CloseWrite()
	}()
	answer := bufio.NewReader(conn)
	for { // until the server closes the connection
		response, err := http.ReadResponse(answer, nil)
		if err != nil {
			break
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	return handled.Load()
}
