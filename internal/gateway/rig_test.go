package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/dial"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/test/upstream/standin"
	"torno/test/wait"
)

const secret = "sk-secret-0123456789abcdef"

// key is a credential that a test can exchange.
type key struct {
	mu      sync.Mutex
	text    string
	next    string // what it is after a refusal
	refused int
}

func (k *key) Header(context.Context) (name, value string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return "X-Api-Key", k.text, nil
}

func (k *key) Refused(context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused++
	if k.next != "" {
		k.text = k.next
	}
}

// rig is a gateway with one upstream and a place for doors.
type rig struct {
	testing.TB
	up     *standin.Upstream
	url    string
	key    *key
	g      *Gateway
	ledger *budget.Ledger
	dir    string
	said   *locked
}

// locked is a log that many may write.
type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	up := standin.New(secret)
	server := httptest.NewServer(up)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	r := bare(t, server.URL)
	r.up = up
	return r
}

// bare is a rig whose upstream is not there, for bubbles of testing/synctest.
func bare(t testing.TB, url string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{TB: t, url: url, key: &key{text: secret}, dir: dir, said: &locked{}}
	if r.ledger, err = budget.Open(t.TempDir(), time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.ledger.Close() })
	r.g = r.gateway()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		r.g.Shut(ended)
	})
	return r
}

func (r *rig) gateway() *Gateway {
	log := slog.New(slog.NewTextHandler(r.said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g := New(Config{Dir: r.dir, Records: filepath.Join(r.dir, ".records"), Ledger: r.ledger, Scrub: func(s string) string { return s }, Log: log})
	table, err := prices.Parse(map[string]any{"claude": map[string]any{"stand-in": map[string]any{"input": 1, "output": 10}}})
	if err != nil {
		r.Fatal(err)
	}
	g.Use([]*Upstream{r.upstream("claude", "anthropic"), r.upstream("codex", "openai"), r.upstream("chat", "compatible")}, table)
	return g
}

// prices has the route claude, with more of a route's keys, and its model's price.
func (r *rig) prices(price map[string]any, more ...any) {
	r.Helper()
	table, err := prices.Parse(map[string]any{"claude": map[string]any{"stand-in": price}})
	if err != nil {
		r.Fatal(err)
	}
	r.g.Use([]*Upstream{r.upstream("claude", "anthropic", more...)}, table)
}

// upstream is a route of a preset to the stand-in, with more of a route's keys.
func (r *rig) upstream(name, preset string, more ...any) *Upstream {
	r.Helper()
	base := r.url
	if preset != "anthropic" {
		base += "/v1"
	}
	at, err := url.Parse(r.url)
	if err != nil {
		r.Fatal(err)
	}
	keys := map[string]any{
		"preset": preset, "upstream": base, "http_to": at.Hostname(), "private": true, "max_body": 1 << 20,
	}
	for i := 0; i+1 < len(more); i += 2 {
		keys[more[i].(string)] = more[i+1]
	}
	said, err := route.Parse(name, keys)
	if err != nil {
		r.Fatal(err)
	}
	transport, err := dial.Rule{Host: said.Upstream.Host, Plain: true, Private: true, Silence: said.Silence}.Transport()
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(transport.CloseIdleConnections)
	return &Upstream{Route: said, Transport: transport, Credential: r.key}
}

// spec is a door of one run without limits.
func spec(id string) Spec {
	return Spec{
		ID: id, Lasts: Duration(time.Hour), Peer: Peer{Anyone: true},
		Routes: []Way{{Route: "claude"}, {Prefix: "/codex", Route: "codex"}, {Prefix: "/chat", Route: "chat"}},
		Claims: []budget.Claim{{Scope: budget.Scope{Kind: budget.Run, ID: id}}},
	}
}

// open opens a door and returns a client of it.
func (r *rig) open(s Spec) *http.Client {
	r.Helper()
	d, err := r.g.Open(s)
	if err != nil {
		r.Fatal(err)
	}
	return client(r.TB, d.Socket)
}

func client(t testing.TB, socket string) *http.Client {
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// paths of the three APIs, as the doors of spec have them.
const (
	messages  = "/v1/messages"
	responses = "/codex/v1/responses"
	chats     = "/chat/v1/chat/completions"
)

// ask is a request with one message.
func ask(path, text string, stream bool) *http.Request {
	body := map[string]any{"model": "stand-in", "max_tokens": 100, "stream": stream}
	turn := []any{map[string]any{"role": "user", "content": text}}
	switch path {
	case responses:
		delete(body, "max_tokens")
		body["input"] = turn
		body["store"] = false
	default:
		body["messages"] = turn
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	request, err := http.NewRequest(http.MethodPost, "http://localhost"+path, bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	return request
}

// say asks, and reads the whole answer.
func say(t *testing.T, c *http.Client, path, text string, stream bool) (status int, body string, err error) {
	t.Helper()
	response, err := c.Do(ask(path, text, stream))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	var all strings.Builder
	response.Header.Write(&all)
	return response.StatusCode, all.String() + string(raw), err
}

// event waits for the event of a number.
func (r *rig) event(number int64) Event {
	r.Helper()
	for {
		found, more := r.g.Events(number - 1)
		if len(found) > 0 {
			return found[0]
		}
		select {
		case <-more:
		case <-time.After(wait.Patience):
			r.Fatalf("event %d does not come", number)
		}
	}
}
