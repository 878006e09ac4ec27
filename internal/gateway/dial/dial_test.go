package dial

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"torno/test/wait"
)

// upstream is a TLS server of ours, and the rule with which it is reached.
func upstream(t *testing.T, handler http.HandlerFunc, change func(*httptest.Server)) (Rule, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "https://")
	roots := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return Rule{Host: host, Private: true, Roots: roots}, s.URL
}

// said is an answer, read to its end.
type said struct {
	proto int
	body  []byte
	cut   error // why the body has no end
}

// ask sends one request by a rule's transport.
func ask(t *testing.T, r Rule, url string) (said, error) {
	t.Helper()
	transport, err := r.Transport()
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience) // another error than that of a silence
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "" // the URL's counts
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return said{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return said{answer.ProtoMajor, body, err}, nil
}

func fine(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// TestAPrivateAddressNeedsARule: the same upstream is reached, and not reached where the rule does not say so.
func TestAPrivateAddressNeedsARule(t *testing.T) {
	rule, url := upstream(t, fine, nil)
	if _, err := ask(t, rule, url); err != nil {
		t.Fatalf("the upstream is not there: %v", err)
	}
	rule.Private = false
	_, err := ask(t, rule, url)
	if why := (*AddressError)(nil); !errors.As(err, &why) {
		t.Errorf("loopback is dialled: %v", err)
	}
}

// TestANameThatLeadsInside: what counts is the address behind the name, at the moment of connecting.
func TestANameThatLeadsInside(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(fine))
	defer s.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	rule := Rule{Host: "localhost:" + port, Plain: true, Private: true}
	if _, err := ask(t, rule, "http://"+rule.Host); err != nil {
		t.Fatalf("the upstream is not there: %v", err)
	}
	rule.Private = false
	_, err := ask(t, rule, "http://"+rule.Host)
	if why := (*AddressError)(nil); !errors.As(err, &why) {
		t.Errorf("a name that leads to loopback is dialled: %v", err)
	}
}

// TestOnlyItsOwnHost: a transport does not go where a request says.
func TestOnlyItsOwnHost(t *testing.T) {
	var reached atomic.Int64
	rule, _ := upstream(t, fine, nil)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, url := range []string{other.URL, "http://" + rule.Host, "https://evil.example/"} {
		if _, err := ask(t, rule, url); !errors.Is(err, ErrHost) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if reached.Load() != 0 {
		t.Error("another host was reached")
	}
}

// TestARedirectIsAnError: it is not followed, and its place is in no error.
func TestARedirectIsAnError(t *testing.T) {
	for _, code := range []int{300, 301, 302, 303, 307, 308, 399} {
		var asked atomic.Int64
		rule, url := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", "/secret-place")
			w.WriteHeader(code)
		}, nil)
		_, err := ask(t, rule, url)
		if !errors.Is(err, ErrRedirect) || strings.Contains(err.Error(), "secret") || asked.Load() != 1 {
			t.Errorf("%d: %v, asked %d times", code, err, asked.Load())
		}
	}
	rule, url := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, nil)
	if _, err := ask(t, rule, url); err != nil {
		t.Errorf("304 is an answer: %v", err)
	}
}

// TestTheCertificate: for the name, by the roots, with the pin, and not with an old TLS.
func TestTheCertificate(t *testing.T) {
	rule, url := upstream(t, fine, func(s *httptest.Server) { s.EnableHTTP2 = true })
	answer, err := ask(t, rule, url)
	if err != nil || answer.proto != 1 {
		t.Fatalf("%v, HTTP/%d", err, answer.proto)
	}
	block, _ := pem.Decode(rule.Roots)
	conf := tlsOf(t, url)
	sum := sha256.Sum256(conf.PeerCertificates[0].RawSubjectPublicKeyInfo)
	pinned := rule
	pinned.Pins = []string{base64.StdEncoding.EncodeToString(sum[:])}
	if _, err := ask(t, pinned, url); err != nil {
		t.Errorf("the pinned key is not believed: %v", err)
	}
	sum = sha256.Sum256(block.Bytes)
	pinned.Pins = []string{base64.StdEncoding.EncodeToString(sum[:])}
	if _, err := ask(t, pinned, url); !errors.Is(err, ErrPin) {
		t.Errorf("another key is believed: %v", err)
	}
	system := rule
	system.Roots = nil
	if _, err := ask(t, system, url); err == nil {
		t.Error("a certificate of nobody is believed")
	}
	named := rule
	named.Host = strings.Replace(rule.Host, "127.0.0.1", "localhost", 1)
	if _, err := ask(t, named, "https://"+named.Host); err == nil {
		t.Error("a certificate for another name is believed")
	}
	old, oldURL := upstream(t, fine, func(s *httptest.Server) {
		s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	})
	if _, err := ask(t, old, oldURL); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if _, err := (Rule{Roots: []byte("nothing")}).Transport(); err == nil {
		t.Error("a file without certificates is taken for roots")
	}
}

func tlsOf(t *testing.T, url string) tls.ConnectionState {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState()
}

// TestNothingUnfolds: an answer that is packed stays packed, and no proxy of the environment is asked.
func TestNothingUnfolds(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	rule, url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	}, nil)
	answer, err := ask(t, rule, url)
	if err != nil {
		t.Fatal(err)
	}
	if answer.cut != nil || len(answer.body) != packed.Len() {
		t.Errorf("%d bytes of %d, %v", len(answer.body), packed.Len(), answer.cut)
	}
	transport, err := rule.Transport()
	if err != nil || transport.http.Proxy != nil {
		t.Errorf("there is a proxy, or %v", err)
	}
}

// raw is an upstream that says what it is told to for each request, and counts them. It closes after the last.
func raw(t *testing.T, says ...string) (Rule, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var asked atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for _, text := range says {
				req, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				io.Copy(io.Discard, req.Body)
				asked.Add(1)
				io.WriteString(c, text)
			}
			c.Close()
		}
	}()
	return Rule{Host: l.Addr().String(), Plain: true, Private: true}, &asked
}

// TestNothingIsSentTwice: an upstream that takes a request on a used connection and closes it gets no second one. The header
// that the client sends here has Go's own transport try again.
func TestNothingIsSentTwice(t *testing.T) {
	rule, asked := raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "")
	transport, err := rule.Transport()
	if err != nil {
		t.Fatal(err)
	}
	send := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+rule.Host, strings.NewReader("spend"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "1")
		answer, err := transport.RoundTrip(req)
		if err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		return err
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	if err := send(); err == nil || asked.Load() != 2 {
		t.Errorf("%v, and %d requests arrived", err, asked.Load())
	}
}

// TestAnswersHaveBounds: a head without end, another protocol, a silence.
func TestAnswersHaveBounds(t *testing.T) {
	rule, _ := raw(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 128<<10)+"\r\n\r\n")
	if _, err := ask(t, rule, "http://"+rule.Host); err == nil {
		t.Error("a head of 128 KiB is read")
	}
	rule, _ = raw(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	if _, err := ask(t, rule, "http://"+rule.Host); !errors.Is(err, ErrUpgrade) {
		t.Errorf("another protocol is spoken: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rule = Rule{Host: l.Addr().String(), Plain: true, Private: true, Silence: 10 * time.Millisecond}
	if _, err := ask(t, rule, "http://"+rule.Host); err == nil {
		t.Error("a silent upstream has answered")
	}
}

// TestASilenceInABody: the head came, and nothing more.
func TestASilenceInABody(t *testing.T) {
	end := make(chan struct{})
	rule, url := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		w.(http.Flusher).Flush()
		<-end
	}, nil)
	defer close(end)
	rule.Silence = 100 * time.Millisecond
	answer, err := ask(t, rule, url)
	for ; err != nil && rule.Silence < wait.Patience; answer, err = ask(t, rule, url) {
		rule.Silence *= 2 // the handshake and the head were not there in time
	}
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(answer.cut, os.ErrDeadlineExceeded) {
		t.Errorf("a body that does not come ends with %v", answer.cut)
	}
}
