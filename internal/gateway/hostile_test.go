package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"torno/internal/gateway/budget"
)

// TestSmuggling: through a door too, what can be read in two ways is refused in the form of the route's API, and nothing of
// it reaches the upstream. Package wire has the whole list.
func TestSmuggling(t *testing.T) {
	const body = `{"model":"stand-in","max_tokens":5,"messages":[{"role":"user","content":"hello"}]}`
	hidden := fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for name, test := range map[string]struct {
		raw    string
		status int
	}{
		"a length and chunks": {"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 400},
		"bare line feeds":     {"GET /v1/models HTTP/1.1\nHost: localhost\n\n" + hidden, 400},
		"absolute form":       {"GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden, 400},
		"CONNECT":             {"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden, 405},
		"HTTP/2":              {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden, 505},
		"another host":        {"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n" + hidden, 421},
		"dots":                {"GET /v1/models/../admin HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden, 400},
		"escaped dots":        {"GET /v1/models/%2e%2e/admin HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden, 400},
		"a WebSocket":         {"GET /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n", 426},
		"h2c":                 {"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\nContent-Length: 5\r\n\r\n12345" + hidden, 426},
		"two gigabytes":       {"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2147483648\r\n\r\n", 413},
		"a million fields":    {"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("a: b\r\n", 1_000_000) + "\r\n", 431},
		"a path of no route":  {"GET /v1/files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.open(spec("run"))
			status, answer := raw(t, r, test.raw)
			var form struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(answer), &form); err != nil || status != test.status || form.Type != "error" || form.Error.Message == "" {
				t.Errorf("%d, %v: %s", status, err, answer)
			}
			if got := r.up.Seen(); len(got) != 0 {
				t.Errorf("%d requests arrived: %+v", len(got), got)
			}
			if e := r.event(1); e.Code == "" || e.Status != test.status {
				t.Errorf("the event is %+v", e)
			}
		})
	}
	// The request that was hidden is a live one.
	r := newRig(t)
	r.open(spec("run"))
	if status, _ := raw(t, r, strings.Replace(hidden, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)); status != 200 || len(r.up.Seen()) != 1 {
		t.Errorf("alone it is answered with %d", status)
	}
}

// raw sends bytes to the door "run" and returns the first answer. Nothing but that answer may come.
func raw(t *testing.T, r *rig, text string) (status int, body string) {
	t.Helper()
	conn := r.dial("run")
	defer conn.Close()
	go io.WriteString(conn, text)
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Close || status >= 400 {
		if more, _ := io.ReadAll(in); len(more) > 0 {
			t.Errorf("a second answer: %q", more)
		}
	}
	return response.StatusCode, string(whole)
}

func (r *rig) dial(id string) net.Conn {
	r.Helper()
	d, err := r.g.Door(id)
	if err != nil {
		r.Fatal(err)
	}
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		r.Fatal(err)
	}
	return conn
}

// TestLies: whatever an upstream says, the next request on the same connection gets its own answer, and what was reserved
// counts unless a whole answer said otherwise.
func TestLies(t *testing.T) {
	for word, want := range map[string]struct {
		status  int
		code    string
		broken  bool // the client sees that the answer is not whole
		charged bool // with what was reserved
	}{
		"#cut":        {200, "upstream_cut", true, true},
		"#redirect":   {502, "upstream", false, true},
		"#short":      {200, "upstream_cut", true, true},
		"#twolengths": {502, "upstream", false, true},
		"#head":       {502, "upstream", false, true},
		"#garbage":    {502, "upstream", false, true},
		"#upgrade":    {502, "upstream", false, true},
		"#bomb":       {502, "upstream", false, true},
		"#two":        {200, "", false, true},
		"#error200":   {200, "", false, true},
		"#negative":   {200, "", false, true},
	} {
		t.Run(word, func(t *testing.T) {
			r := newRig(t)
			c := r.open(spec("run"))
			status, body, err := say(t, c, messages, word, false)
			if status != want.status || (err != nil) != want.broken {
				t.Errorf("%d, %v: %.300s", status, err, body)
			}
			e := r.event(1)
			if e.Status != want.status || e.Code != want.code || (e.Cost.OutputTokens == 100) != want.charged || e.Counted == want.charged {
				t.Errorf("the event is %+v", e)
			}
			if want.code != "" && !strings.Contains(r.said.String(), "code="+want.code) {
				t.Error("it was not said")
			}
			status, body, err = say(t, c, messages, "hello", false)
			if word == "#two" && strings.HasSuffix(body, "poison") {
				// net/http drops a connection with bytes that nobody asked for as soon as it sees them. A request that is written in the same
				// moment still takes them for its answer; the connection ends with it.
				status, body, err = say(t, c, messages, "hello", false)
			}
			if err != nil || status != 200 || !strings.Contains(body, "You said: hello") {
				t.Errorf("what follows: %d, %v: %s", status, err, body)
			}
		})
	}
}

// TestAnEndlessAnswer: it is passed on as it comes, nothing of it piles up, and it ends with its door.
func TestAnEndlessAnswer(t *testing.T) {
	r := newRig(t)
	r.up.Gone = make(chan struct{}, 1)
	c := r.open(spec("run"))
	response, err := c.Do(ask(messages, "#endless", true))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if n, err := io.CopyN(io.Discard, response.Body, 32<<20); err != nil {
		t.Fatalf("it ended after %d bytes: %v", n, err)
	}
	r.g.Close("run")
	<-r.up.Gone
}

// TestAnAnswerHasAnEnd: the bound on one answer holds also where its reader takes all of it.
func TestAnAnswerHasAnEnd(t *testing.T) {
	r := newRig(t)
	u := r.upstream("claude", "anthropic")
	u.Transport = zeros{}
	r.g.Use([]*Upstream{u}, nil)
	r.g.mostAnswer = 4 << 20
	response, err := r.open(spec2("run")).Do(ask(messages, "hello", true))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err == nil || n == 0 || n > r.g.mostAnswer {
		t.Errorf("%d bytes came, %v", n, err)
	}
	if e := r.event(1); e.Code != "answer_too_large" || e.Counted {
		t.Errorf("the event is %+v", e)
	}
}

// zeros answers without end, as fast as it is read.
type zeros struct{}

func (zeros) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Body: io.NopCloser(zeros{})}, nil
}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// spec2 is a door of one route only.
func spec2(id string) Spec {
	s := spec(id)
	s.Routes = s.Routes[:1]
	return s
}

// TestTheCredentialIsNowhere: upstreams say it in bodies, in events, in headers and errors. It is in nothing that the child
// gets, in no log and in no event.
func TestTheCredentialIsNowhere(t *testing.T) {
	r := newRig(t)
	recorded := spec("run")
	recorded.Record = true
	c := r.open(recorded)
	var told strings.Builder
	for _, path := range []string{messages, responses, chats} {
		for _, stream := range []bool{false, true} {
			_, body, err := say(t, c, path, "#echo", stream)
			if err != nil || !strings.Contains(body, strings.Repeat("*", len(secret))) {
				t.Errorf("%s, stream %v: %v: %s", path, stream, err, body)
			}
			told.WriteString(body)
		}
	}
	r.up.Rotate("another")
	status, body, err := say(t, c, messages, "hello", false)
	if err != nil || status != 401 || !strings.Contains(body, "Incorrect API key provided") {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	told.WriteString(body)
	u := r.upstream("claude", "anthropic")
	u.Transport = refusing{}
	r.g.Use([]*Upstream{u}, nil)
	_, body, _ = say(t, c, messages, "hello", false)
	told.WriteString(body)
	for number := range int64(8) {
		raw, err := json.Marshal(r.event(number + 1))
		if err != nil {
			t.Fatal(err)
		}
		told.Write(raw)
	}
	if strings.Contains(told.String(), "Set-Cookie") {
		t.Error("a cookie of the upstream's was passed on")
	}
	told.WriteString(r.said.String())
	told.WriteString(r.recordOf("run"))
	for n := 8; n <= len(secret); n += 4 { // no long piece of it either, but where an upstream cuts it apart itself
		if piece := secret[:n]; n > 16 && strings.Contains(told.String(), piece) {
			t.Errorf("%q was told", piece)
		}
	}
	if !strings.Contains(fmt.Sprint(r.up.Seen()), secret) {
		t.Error("the credential was not sent at all, so this proves nothing")
	}
}

// TestScrubberCutAnywhere: a secret is found wherever the parts of an answer are cut, and the length stays.
func TestScrubberCutAnywhere(t *testing.T) {
	text := "sk-sk-secr " + secret + secret + " sk-secret-0"
	want := strings.ReplaceAll(text, secret, strings.Repeat("*", len(secret)))
	for first := range len(text) {
		for second := first; second < len(text); second += 3 {
			var out bytes.Buffer
			s := &scrubber{to: &out, secrets: []string{secret}}
			for _, part := range []string{text[:first], text[first:second], text[second:]} {
				s.Write([]byte(part))
			}
			s.flush()
			if out.String() != want {
				t.Fatalf("cut at %d and %d: %q", first, second, out.String())
			}
		}
	}
}

// TestOnlyTheSandboxIsServed: a process of another control group gets not one byte, and neither does any before it was said
// which group is the sandbox's.
func TestOnlyTheSandboxIsServed(t *testing.T) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("NOT SHOWN HERE: there are no control groups")
	}
	var own string
	for line := range strings.Lines(string(groups)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 && parts[2] != "/" {
			own = parts[2]
		}
	}
	if own == "" {
		t.Skip("NOT SHOWN HERE: this process is in no group of its own")
	}
	r := newRig(t)
	s := spec("run")
	s.Peer = Peer{}
	c := r.open(s)
	for _, test := range []struct {
		peer   *Peer
		served bool
	}{{nil, false}, {&Peer{Cgroup: own + "/deeper"}, false}, {&Peer{Cgroup: own[:len(own)-1]}, false}, {&Peer{Cgroup: own}, true}, {&Peer{Anyone: true}, true}} {
		if _, err := r.g.Change("run", Change{Peer: test.peer}); err != nil {
			t.Fatal(err)
		}
		c.CloseIdleConnections()
		status, body, err := say(t, c, messages, "hello", false)
		if (err == nil && status == 200) != test.served {
			t.Errorf("%+v: %d, %v: %s", test.peer, status, err, body)
		}
	}
	shown, err := r.g.Door("run")
	if err != nil || shown.Codes["peer"] == 0 || shown.Codes["peer_unset"] == 0 || strings.Count(r.said.String(), "code=peer ") != 1 {
		t.Errorf("it shows %+v, %v, and said %s", shown, err, r.said)
	}
}

func TestGroups(t *testing.T) {
	const groups = "12:memory:/docker/abc\n1:name=systemd:/system.slice\n0::/\n"
	for group, want := range map[string]bool{"/docker/abc": true, "/docker": true, "/docker/ab": false, "/docker/abc/x": false, "/abc": false} {
		if got := listsGroup(groups, group); got != want {
			t.Errorf("%s: %v", group, got)
		}
	}
}

// TestABudgetThatOthersHold: a request waits for those under way, and then for no longer than it may.
func TestABudgetThatOthersHold(t *testing.T) {
	r := newRig(t)
	s := limited("run", budget.Limits{Parallel: number(1)})
	busy, err := r.ledger.Reserve(context.Background(), s.Claims, noModel, false)
	if err != nil {
		t.Fatal(err)
	}
	c := r.open(s)
	answered := make(chan int)
	go func() {
		status, _, _ := say(t, c, messages, "hello", false)
		answered <- status
	}()
	if err := busy.Cancel(); err != nil {
		t.Fatal(err)
	}
	if status := <-answered; status != 200 {
		t.Errorf("answered with %d", status)
	}
}

// TestTheHostsNetworkIsNotTold: a child learns why its upstream is not there, and no name or address of the host's network.
func TestTheHostsNetworkIsNotTold(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	for _, test := range []struct {
		err  error
		says string
	}{
		{&net.DNSError{Err: "no such host", Name: "inner.example", Server: "10.0.0.53:53"}, "cannot be resolved"},
		{&net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, Err: syscall.ECONNREFUSED}, "refuses connections"},
		{errors.New("something with 10.0.0.1"), "cannot be reached"},
	} {
		u := r.upstream("claude", "anthropic")
		u.Transport = broken{test.err}
		r.g.Use([]*Upstream{u}, nil)
		status, body, err := say(t, c, messages, "hello", false)
		if err != nil || status != http.StatusBadGateway || strings.Contains(body, "10.0.0.") || !strings.Contains(body, test.says) {
			t.Errorf("%d, %v: %s", status, err, body)
		}
	}
	if !strings.Contains(r.said.String(), "10.0.0.53") {
		t.Error("the log does not say it either")
	}
}

// broken fails in one way.
type broken struct{ error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.error }
