package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/manager"
	tests "torno/test/wait"
)

// port is a server on a port.
type port struct {
	testing.TB
	address, token string
	server         *Server
}

func (s *stage) servePort() *port { return s.servePortWith(Options{}) }

func (s *stage) servePortWith(o Options) *port {
	s.Helper()
	m, err := manager.New(s.path, manager.Options{})
	s.check(err)
	o.Env = func(name string) string { return s.env[name] }
	server, err := New(m, o)
	s.check(err)
	listener, err := Listen(s.Context(), "127.0.0.1:0")
	s.check(err)
	token, text := NewToken()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.ServeHTTP(ctx, listener, token) }()
	s.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			s.Error(err)
		}
		m.Close()
	})
	return &port{s.TB, listener.Addr().String(), text, server}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// post sends a message, changed as a stranger may change it.
func (p *port) post(body string, change func(*http.Request)) (code int, text string, header http.Header) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), tests.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+Path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+p.token)
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), resp.Header
}

// TestAPortIsForItsParent: without the token, from a page in a browser, or by another name nothing is done.
func TestAPortIsForItsParent(t *testing.T) {
	p := newStage(t).servePort()
	_, number, _ := strings.Cut(p.address, ":")
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"a client", nil, 200},
		{"by the name localhost", func(r *http.Request) { r.Host = "localhost:" + number }, 200},
		{"by IPv6", func(r *http.Request) { r.Host = "[::1]:" + number }, 200},
		{"from a page of ours", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:"+number) }, 200},
		{"bearer in small letters", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+p.token) }, 200},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"an empty token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
		{"half a token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+p.token[:20]) }, 401},
		{"another token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.ToLower(p.token)) }, 401},
		{"another scheme", func(r *http.Request) { r.Header.Set("Authorization", "Basic "+p.token) }, 401},
		{"two tokens", func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, 401},
		{"the token in the address", func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + p.token }, 401},
		{"another host's name, which leads here", func(r *http.Request) { r.Host = "evil.example:" + number }, 403},
		{"a name that begins as ours does", func(r *http.Request) { r.Host = "localhost.evil.example:" + number }, 403},
		{"a name that resolves to us", func(r *http.Request) { r.Host = "127.0.0.1.nip.io:" + number }, 403},
		{"another port", func(r *http.Request) { r.Host = "127.0.0.1:1" }, 403},
		{"no port", func(r *http.Request) { r.Host = "127.0.0.1" }, 403},
		{"another address of this machine", func(r *http.Request) { r.Host = "10.0.0.1:" + number }, 403},
		{"from another page", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"from a page of another port", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"from a page of a file", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"from a page of another scheme", func(r *http.Request) { r.Header.Set("Origin", "https://127.0.0.1:"+number) }, 403},
		{"from two pages", func(r *http.Request) {
			r.Header["Origin"] = []string{"http://127.0.0.1:" + number, "http://evil.example"}
		}, 403},
		{"another path", func(r *http.Request) { r.URL.Path = "/" }, 404},
		{"text that is no JSON", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"too much", func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"x":"`), io.LimitReader(zeros{}, maxLine)))
			r.ContentLength = -1
		}, 413},
	} {
		if code, text, _ := p.post(hello, c.change); code != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, code, c.want, text)
		}
	}
}

// TestAStrangerKeepsNoPlace: a connection whose request was turned away ends, also where the rest of the request never comes.
func TestAStrangerKeepsNoPlace(t *testing.T) {
	token, text := NewToken()
	for what, header := range map[string]string{
		"no token, and a body that never comes":       "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 9\r\n\r\n",
		"no token, and a chunk that never comes":      "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nTransfer-Encoding: chunked\r\n\r\n",
		"no token, and no second request":             "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
		"no path, and a body that never comes":        "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 9\r\n\r\n",
		"no path, and no second request":              "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
		"an expectation, and a body that never comes": "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nExpect: 200\r\nContent-Length: 9\r\n\r\n",
		"another host's name":                         "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n",
		"another path, by somebody that has the word": "POST /x HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAuthorization: Bearer " + text + "\r\nContent-Length: 9\r\n\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			client, conn := net.Pipe()
			listener := &single{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
			listener.conns <- conn
			server := newHTTPServer(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, token, http.NotFoundHandler())
			go func() { _ = server.Serve(listener) }()
			defer server.Close()
			began := time.Now()
			go func() { _, _ = io.WriteString(client, header) }()
			if err := client.SetReadDeadline(began.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(client)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") || time.Since(began) > 2*headerTime {
				t.Errorf("%s: the connection lasts %v: %v, %q", what, time.Since(began), err, answer)
			}
		})
	}
}

// TestSilentStrangersKeepNoClientOut: 2,000 connections that say nothing are held open, and no time ends one of them. The client is
// served, and the oldest strangers have gone.
func TestSilentStrangersKeepNoClientOut(t *testing.T) {
	p := serveNothing(t)
	strangers := make([]net.Conn, 2000)
	for i := range strangers {
		strangers[i] = p.dial()
	}
	if code, text, _ := p.post(hello, nil); code != http.StatusNoContent {
		t.Fatalf("the client is told %d, %s", code, text)
	}
	for i, conn := range strangers[:len(strangers)-maxStrangers] {
		var none [1]byte
		if _, err := conn.Read(none[:]); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the stranger %d has not gone: %v", i, err)
		}
	}
}

// TestAClientKeepsItsPlace: a connection that has shown the token stays while strangers come and go, and a further client comes in when all
// places of strangers are taken.
func TestAClientKeepsItsPlace(t *testing.T) {
	p := serveNothing(t)
	client := p.dial()
	ask := func() {
		t.Helper()
		request := "POST /mcp HTTP/1.1\r\nHost: " + p.address + "\r\nAuthorization: Bearer " + p.token + "\r\nContent-Length: 0\r\n\r\n"
		if _, err := io.WriteString(client, request); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil || answer.StatusCode != http.StatusNoContent {
			t.Fatal(answer, err)
		}
	}
	ask()
	for range 3 {
		for range 2 * maxStrangers {
			p.dial()
		}
		p.post(hello, nil) // on a connection of its own, which comes behind the strangers
		http.DefaultClient.CloseIdleConnections()
		ask()
	}
}

// TestClientsAreBounded: more connections than there are places are told so, also where all of them have the token.
func TestClientsAreBounded(t *testing.T) {
	v := &visitors{clients: map[net.Conn]bool{}}
	refused := 0
	for range maxClients + 5 {
		conn, _ := net.Pipe()
		v.follow(conn, http.StateNew)
		r := (&http.Request{}).WithContext(withConnection(t.Context(), conn))
		if !v.admit(r) {
			refused++
			v.follow(conn, http.StateClosed)
		} else if !v.admit(r) {
			t.Fatal("a client was admitted, and then not")
		}
	}
	if refused != 5 || len(v.strangers) > 0 {
		t.Errorf("%d clients were refused, want 5; %d strangers are left", refused, len(v.strangers))
	}
	for conn := range v.clients {
		v.follow(conn, http.StateClosed)
	}
	if len(v.clients) > 0 {
		t.Error("those that have gone keep their places")
	}
}

// TestAStrangerIsNotReadOut: of what a request without the token says, a bounded part is read.
func TestAStrangerIsNotReadOut(t *testing.T) {
	for what, begin := range map[string]string{
		"a body without an end":   "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000000000\r\n\r\n",
		"a header without an end": "POST /mcp HTTP/1.1\r\nHost: %s\r\nX: ",
	} {
		client, conn := net.Pipe() // which holds nothing back, so that what is written was read
		listener := &single{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.conns <- conn
		token, _ := NewToken()
		server := newHTTPServer(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, token, http.NotFoundHandler())
		go func() { _ = server.Serve(listener) }()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, err := fmt.Fprintf(client, begin, "127.0.0.1:80")
		read := int64(0)
		if err == nil {
			read, err = io.Copy(client, io.LimitReader(zeros{}, 100<<20))
		}
		if err == nil || read > 512<<10 {
			t.Errorf("%s: %d bytes were read: %v", what, read, err)
		}
		server.Close()
	}
}

// serveNothing is a port whose clients are answered 204, and where no connection is ended by time.
func serveNothing(t *testing.T) *port {
	t.Helper()
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	token, text := NewToken()
	server := newHTTPServer(listener.Addr(), token, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	server.ReadHeaderTimeout = 0
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return &port{TB: t, address: listener.Addr().String(), token: text}
}

// dial connects, and stays until the test ends.
func (p *port) dial() net.Conn {
	p.Helper()
	conn, err := new(net.Dialer).DialContext(p.Context(), "tcp", p.address)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(tests.Patience)); err != nil {
		p.Fatal(err)
	}
	return conn
}

// single is a listener to which one connection comes.
type single struct {
	net.Listener
	conns  chan net.Conn
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error {
	close(l.closed)
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestSessionsAreBounded: a client that only says hello again and again takes no more than its share.
func TestSessionsAreBounded(t *testing.T) {
	p := newStage(t).servePort()
	refused := 0
	for range maxSessions + 5 {
		if code, _, _ := p.post(hello, nil); code != http.StatusOK {
			refused++
		}
	}
	if refused != 5 {
		t.Errorf("%d sessions were refused, want 5", refused)
	}
}

func TestOnlyTheLoopbackIsListenedOn(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "10.1.2.3:0", "[::]:0", "example.com:80", "127.0.0.1", ""} {
		if l, err := Listen(t.Context(), address); err == nil {
			l.Close()
			t.Errorf("%q was listened on", address)
		}
	}
}

// TestATokenLastsOneStart: what a client has shown to another program that took the port while the server was down opens no later server.
func TestATokenLastsOneStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var shown []string
	for range 3 {
		token, err := WriteToken(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		now := strings.TrimSpace(string(text))
		for _, earlier := range shown {
			if token.knownTo(&http.Request{Header: http.Header{"Authorization": {"Bearer " + earlier}}}) {
				t.Error("the token of an earlier start is taken")
			}
		}
		if !token.knownTo(&http.Request{Header: http.Header{"Authorization": {"Bearer " + now}}}) {
			t.Error("the token in the file is not taken")
		}
		shown = append(shown, now)
	}
}

func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	good := strings.Repeat("k", minToken)
	// An earlier token that others might read is replaced by a file that they may not.
	if err := os.WriteFile(path("open"), []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new", "open"} {
		if _, err := WriteToken(path(name)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info, err)
		}
	}
	if os.Geteuid() == 0 { // a user that may write into the directory was there first
		theirs := path("theirs")
		if err := errors.Join(os.WriteFile(theirs, []byte(good), 0o600), os.Chown(theirs, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		if _, err := WriteToken(theirs); err == nil {
			t.Error("it is another user's, and it was taken")
		}
	}
	for name, prepare := range map[string]func(string) error{
		"it is short":       func(p string) error { return os.WriteFile(p, []byte("hunter2"), 0o600) },
		"it is empty":       func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"it has two words":  func(p string) error { return os.WriteFile(p, []byte(good+" "+good), 0o600) },
		"it is long":        func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("k", maxToken+1)), 0o600) },
		"it is a link":      func(p string) error { return os.Symlink(path("new"), p) },
		"it is a directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"it has two names":  func(p string) error { return os.Link(path("new"), p) },
	} {
		p := path("bad")
		if err := prepare(p); err != nil {
			t.Fatal(err)
		}
		was, _ := os.ReadFile(p)
		if _, err := WriteToken(p); err == nil {
			t.Errorf("%s, and it was taken", name)
		}
		if is, _ := os.ReadFile(p); string(is) != string(was) {
			t.Errorf("%s, and it was written over", name)
		}
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 3 {
		t.Errorf("there is more left than tokens: %v, %v", entries, err)
	}
}
