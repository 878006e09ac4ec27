package control

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/test/wait"
)

func newGateway(t *testing.T) *gateway.Gateway {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ledger, err := budget.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	g := gateway.New(gateway.Config{Dir: dir, Ledger: ledger, Scrub: func(s string) string { return s }, Log: slog.New(slog.DiscardHandler)})
	g.Use([]*gateway.Upstream{{Route: &route.Route{Name: "claude", API: route.Anthropic, Upstream: &url.URL{Scheme: "https", Host: "example.com"}}}}, nil)
	t.Cleanup(func() { g.Shut(t.Context()) })
	return g
}

// paper is a process with one route, which is the text.
type paper struct {
	g       *gateway.Gateway
	text    []byte
	stopped atomic.Bool
}

func (p *paper) Stop() { p.stopped.Store(true) }

func (p *paper) Digest() string { return Digest(p.text) }

func (p *paper) Take(text []byte) error {
	switch string(text) {
	case "":
		return ErrSetup
	case "mine":
		return ErrOwnSetup
	}
	if p.g != nil {
		p.g.Use([]*gateway.Upstream{{Route: &route.Route{Name: string(text)}}}, nil)
	}
	p.text = text
	return nil
}

func spec(id string) gateway.Spec {
	return gateway.Spec{
		ID: id, Lasts: gateway.Duration(time.Hour), Routes: []gateway.Way{{Route: "claude"}},
		Claims: []budget.Claim{{Scope: budget.Scope{Kind: budget.Run, ID: id}}},
	}
}

// served is a gateway with a client of its control socket.
type served struct {
	*Client
	gateway *gateway.Gateway
	told    *paper
	end     func()
}

// serve serves a gateway until the test, or a call of end, is over.
func serve(t *testing.T) *served {
	t.Helper()
	g := newGateway(t)
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir + "/" + SocketName); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := &paper{g: g}, make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, dir, g, told, slog.New(slog.DiscardHandler)) }()
	s := &served{Client: Dial(dir), gateway: g, told: told}
	s.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		s.end()
		s.Close()
		os.RemoveAll(dir)
	})
	return s
}

// TestDoorsByTheControlSocket opens, changes, shows and closes doors. Errors have their types on the client's side.
func TestDoorsByTheControlSocket(t *testing.T) {
	c, ctx := serve(t), t.Context()
	opened, err := c.Open(ctx, spec("run"))
	if err != nil || opened.ID != "run" || opened.Socket == "" {
		t.Fatalf("%+v, %v", opened, err)
	}
	if again, err := c.Open(ctx, spec("run")); err != nil || again.Socket != opened.Socket {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	changed, err := c.Change(ctx, "run", gateway.Change{Peer: &gateway.Peer{Cgroup: "/torno/a"}})
	if err != nil || changed.Peer.Cgroup != "/torno/a" {
		t.Errorf("%+v, %v", changed, err)
	}
	if shown, err := c.Door(ctx, "run"); err != nil || shown.Peer != changed.Peer {
		t.Errorf("%+v, %v", shown, err)
	}
	other := spec("run")
	other.Lasts++
	if _, err := c.Open(ctx, other); !errors.Is(err, gateway.ErrOther) {
		t.Errorf("another one: %v", err)
	}
	none := spec("other")
	none.Routes[0].Route = "gone"
	if _, err := c.Open(ctx, none); !errors.Is(err, gateway.ErrNoRoute) {
		t.Errorf("no route: %v", err)
	}
	if _, err := c.Try(ctx, "../gone", ""); !errors.Is(err, gateway.ErrNoRoute) {
		t.Errorf("a trial of no route: %v", err)
	}
	if status, err := c.Status(ctx); err != nil || status.Doors != 1 || len(status.Routes) != 1 {
		t.Errorf("%+v, %v", status, err)
	}
	if all, err := c.Doors(ctx); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := c.CloseDoor(ctx, "run"); err != nil {
		t.Error(err)
	}
	if _, err := c.CloseDoor(ctx, "run"); !errors.Is(err, gateway.ErrNoDoor) {
		t.Errorf("closed twice: %v", err)
	}
}

// TestASetupByTheControlSocket tells the gateway its routes. What the gateway refuses changes nothing.
func TestASetupByTheControlSocket(t *testing.T) {
	c, ctx := serve(t), t.Context()
	if status, err := c.Configure(ctx, []byte("npm")); err != nil || len(status.Routes) != 1 || status.Routes[0] != "npm" || status.Setup != Digest([]byte("npm")) {
		t.Errorf("told other routes: %+v, %v", status, err)
	}
	for text, want := range map[string]error{"": ErrSetup, "mine": ErrOwnSetup, strings.Repeat("a", maxSetup+1): ErrSetup} {
		if _, err := c.Configure(ctx, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	if status, err := c.Status(ctx); err != nil || status.Setup != Digest([]byte("npm")) || status.Version == "" {
		t.Errorf("what it refused changed it: %+v, %v", status, err)
	}
}

// TestBudgetsByTheControlSocket resets one budget, and lists and forgets another one.
func TestBudgetsByTheControlSocket(t *testing.T) {
	c, ctx := serve(t), t.Context()
	tree, subagent := budget.Scope{Kind: budget.Tree, ID: "o 1"}, budget.Scope{Kind: budget.Subagent, ID: "o/s 1"}
	for _, scope := range []budget.Scope{tree, subagent} {
		reserved, err := c.gateway.Ledger.Reserve(ctx, []budget.Claim{{Scope: scope}}, budget.Amount{Requests: 3}, false)
		if err != nil || reserved.SettleUnknown() != nil {
			t.Fatal(err)
		}
	}
	if was, err := c.Reset(ctx, tree); err != nil || was.Spent.Requests != 3 {
		t.Errorf("a reset ends %+v, %v", was, err)
	}
	if use, err := c.Spent(ctx, tree); err != nil || use.Spent.Requests != 0 {
		t.Errorf("after a reset there is spent %+v, %v", use, err)
	}
	idle, err := c.IdleSubagents(ctx, "")
	if err != nil || len(idle) != 1 || idle[0].ID != subagent.ID || idle[0].Spent.Requests != 3 {
		t.Errorf("without a door are %+v, %v", idle, err)
	}
	if behind, err := c.IdleSubagents(ctx, subagent.ID); err != nil || len(behind) != 0 {
		t.Errorf("behind it are %+v, %v", behind, err)
	}
	if err := c.ForgetSubagents(ctx, idle); err != nil || c.gateway.Ledger.Use(subagent).Spent.Requests != 0 {
		t.Errorf("it is not forgotten: %v", err)
	}
}

// TestAStopByTheControlSocket tells the gateway to stop, and asks one that has stopped.
func TestAStopByTheControlSocket(t *testing.T) {
	c, ctx := serve(t), t.Context()
	if doubt, err := c.Clock(ctx); err != nil || doubt != nil {
		t.Errorf("the clock is doubted: %+v, %v", doubt, err)
	}
	status, err := c.Stop(ctx)
	wait.Until(t, "it stops, after its answer", c.told.stopped.Load)
	if err != nil || status.Process == 0 {
		t.Errorf("stop: %+v, %v, %v", status, err, c.told.stopped.Load())
	}
	c.end()
	if _, err := c.Status(ctx); !errors.Is(err, ErrNoGateway) {
		t.Errorf("without a gateway: %v", err)
	}
}

// TestMisspelled: a limit under a wrong name would be no limit.
func TestMisspelled(t *testing.T) {
	handler := Handler(newGateway(t), &paper{})
	for _, body := range []string{
		`{"id":"a","routes":[{"route":"claude"}],"lasts":"1h","claims":[{"scope":{"kind":"run","id":"a"},"limits":{"request":1}}]}`,
		`{"id":"a","routes":[{"route":"claude"}],"lasts":60,"claims":[{"scope":{"kind":"run","id":"a"}}]}`,
		`{"id":"a"`,
		`{"id":"` + strings.Repeat("a", maxRequest) + `"}`,
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/doors", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%.80s: %d", body, w.Code)
		}
	}
}

// FuzzHandler: no request ends the gateway, and what is no door is not opened.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/v1/doors", `{"id":"a","routes":[{"route":"claude"}],"lasts":"1h","claims":[{"scope":{"kind":"run","id":"a"}}]}`)
	f.Add("PATCH", "/v1/doors/a", `{"peer":{"cgroup":"/a"},"last":true}`)
	f.Add("DELETE", "/v1/doors/..%2f..", "")
	f.Add("GET", "/v1/events?after=-9223372036854775808", "")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if strings.Contains(path, "follow") {
			return // it would go on for ever
		}
		request, err := http.NewRequest(method, "http://gateway"+path, strings.NewReader(body))
		if err != nil || request.URL.Host != "gateway" {
			return
		}
		Handler(newGateway(t), &paper{}).ServeHTTP(httptest.NewRecorder(), request)
	})
}

func TestEventsOfAGoneGateway(t *testing.T) {
	if err := Dial(t.TempDir()).Events(t.Context(), 0, func(gateway.Event) error { return io.EOF }); !errors.Is(err, ErrNoGateway) {
		t.Error(err)
	}
}

// TestARequestThatIsTooLarge is refused, and its door is not there.
func TestARequestThatIsTooLarge(t *testing.T) {
	g := newGateway(t)
	body := strings.Repeat(" ", maxRequest) + `{"id":"run","lasts":"1h","routes":[{"route":"claude"}],"claims":[{"scope":{"kind":"run","id":"run"}}]}`
	for _, test := range []struct {
		body   string
		status int
	}{{body, http.StatusBadRequest}, {strings.TrimSpace(body), http.StatusOK}} {
		answer := httptest.NewRecorder()
		Handler(g, &paper{}).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/v1/doors", strings.NewReader(test.body)))
		if answer.Code != test.status || (len(g.Doors()) == 1) != (test.status == http.StatusOK) {
			t.Errorf("%d bytes: %d %s", len(test.body), answer.Code, answer.Body)
		}
	}
}
