package door

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/sandbox"
	"torno/watcher/run"
)

// near is a gateway in this process, which a test can have fail.
type near struct {
	*gateway.Gateway
	fails  func(ctx context.Context, call string) error // before a call; nil for never
	tells  func(*gateway.Door)                          // changes a reply; nil for not
	told   func() error                                 // is told the routes; nil for nothing that is new
	calls  []string
	budget *budget.Ledger
}

func newNear(t *testing.T) *near {
	t.Helper()
	dir, err := os.MkdirTemp("", "door") // a short name: a socket's path is short
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
	useClaude(g)
	t.Cleanup(func() {
		for _, d := range g.Doors() {
			g.Close(d.ID)
		}
	})
	return &near{Gateway: g, budget: ledger}
}

func useClaude(g *gateway.Gateway) {
	g.Use([]*gateway.Upstream{{Route: &route.Route{Name: "claude", API: route.Anthropic, Upstream: &url.URL{Scheme: "https", Host: "example.com"}}}}, nil)
}

func (n *near) tell(context.Context) error {
	if n.told == nil {
		return nil
	}
	return n.told()
}

func (n *near) begin(ctx context.Context, call string) error {
	n.calls = append(n.calls, call)
	if n.fails == nil {
		return nil
	}
	return n.fails(ctx, call)
}

func (n *near) reply(d gateway.Door, err error) (gateway.Door, error) {
	if n.tells != nil {
		n.tells(&d)
	}
	return d, err
}

func (n *near) Doors(ctx context.Context) ([]gateway.Door, error) {
	if err := n.begin(ctx, "doors"); err != nil {
		return nil, err
	}
	return n.Gateway.Doors(), nil
}

func (n *near) Open(ctx context.Context, s gateway.Spec) (gateway.Door, error) {
	if err := n.begin(ctx, "open"); err != nil {
		return gateway.Door{}, err
	}
	return n.reply(n.Gateway.Open(s))
}

func (n *near) Change(ctx context.Context, id string, c gateway.Change) (gateway.Door, error) {
	if err := n.begin(ctx, "change"); err != nil {
		return gateway.Door{}, err
	}
	return n.reply(n.Gateway.Change(id, c))
}

func (n *near) CloseDoor(ctx context.Context, id string) (gateway.Door, error) {
	if err := n.begin(ctx, "close"); err != nil {
		return gateway.Door{}, err
	}
	d, ok := n.Close(id)
	if !ok {
		return d, gateway.ErrNoDoor
	}
	return n.reply(d, nil)
}

func (n *near) Spent(ctx context.Context, s budget.Scope) (budget.Use, error) {
	if err := n.begin(ctx, "spent"); err != nil {
		return budget.Use{}, err
	}
	return n.budget.Use(s), nil
}

func (n *near) IdleSubagents(ctx context.Context, after string) ([]gateway.Idle, error) {
	return n.Gateway.IdleSubagents(after), n.begin(ctx, "idle subagents")
}

func (n *near) ForgetSubagents(ctx context.Context, gone []gateway.Idle) error {
	if err := n.begin(ctx, "forget subagents"); err != nil {
		return err
	}
	return n.Gateway.ForgetSubagents(gone)
}

func (n *near) Reset(ctx context.Context, s budget.Scope) (budget.Use, error) {
	if err := n.begin(ctx, "reset"); err != nil {
		return budget.Use{}, err
	}
	return n.Gateway.Reset(s)
}

func (n *near) Clock(ctx context.Context) (*calendar.Doubt, error) {
	return n.Gateway.Clock(), n.begin(ctx, "clock")
}

func (n *near) IdleRuns(ctx context.Context, after string) ([]string, error) {
	if err := n.begin(ctx, "idle"); err != nil {
		return nil, err
	}
	return n.Gateway.IdleRuns(after), nil
}

func (n *near) Forget(ctx context.Context, runs []string) error {
	if err := n.begin(ctx, "forget"); err != nil {
		return err
	}
	return n.Gateway.Forget(runs)
}

var errAway = errors.New("away")

func holder(t *testing.T, routes ...sandbox.Route) *run.Holder {
	t.Helper()
	subagent, err := delegation.ParseSubagentID("s1")
	if err != nil {
		t.Fatal(err)
	}
	request, err := delegation.ParseRequestID("r/1")
	if err != nil {
		t.Fatal(err)
	}
	h := &run.Holder{Sandbox: sandbox.NewSandboxID(), Key: sandbox.RunKey{Outbox: "0123456789abcdef", Subagent: subagent, Request: request, Attempt: 1}}
	h.Spec.Timeout = time.Minute
	if len(routes) > 0 {
		h.Spec.Door = &sandbox.Door{Routes: routes, Port: 4180}
	}
	return h
}

var claude = sandbox.Route{Name: "claude"}

func (n *near) open() (ids []string) {
	for _, d := range n.Gateway.Doors() {
		ids = append(ids, d.ID)
	}
	return ids
}

// TestTheLifeOfADoor: it serves no process until its sandbox was seen, lasts longer than the run may, and closes with it.
func TestTheLifeOfADoor(t *testing.T) {
	n, h := newNear(t), holder(t, claude)
	d := New(n, n.tell)
	if err := d.Acquire(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if err := d.Acquire(t.Context(), holder(t)); err != nil || len(n.open()) != 1 {
		t.Fatalf("a run without a door: %v, %v", err, n.open())
	}
	opened, err := n.Door(string(h.Sandbox))
	if err != nil || opened.Peer != (gateway.Peer{}) || time.Duration(opened.Lasts) <= h.Spec.Timeout {
		t.Fatalf("%+v, %v", opened, err)
	}
	if s := h.Spec.Sockets; len(s) != 1 || s[0].Host != opened.Socket || s[0].Port != 4180 || !s[0].Lasting {
		t.Errorf("its sandbox gets %+v", s)
	}
	for _, seen := range []sandbox.Attestation{{Group: "/docker/a"}, {Group: "/../docker-a.scope"}, {}} {
		if err := d.Attested(t.Context(), *h, seen); err != nil {
			t.Errorf("%q: %v", seen.Group, err)
		}
		if opened, _ := n.Door(string(h.Sandbox)); opened.Peer.Cgroup != seen.Group || opened.Peer.Anyone != (seen.Group == "") {
			t.Errorf("%q: it serves %+v", seen.Group, opened.Peer)
		}
	}
	used, err := d.End(t.Context(), *h)
	if err != nil || used.Model == nil || len(n.open()) != 0 {
		t.Errorf("its end: %+v, %v, open %v", used, err, n.open())
	}
	for range 2 {
		if err := d.Release(t.Context(), h.Sandbox); err != nil {
			t.Error(err)
		}
	}
	if len(d.known) != 1 { // that of the run without a door
		t.Errorf("it still knows %v", d.known)
	}
}

// TestWhatAGatewayRefuses ends a run; what it cannot do now is tried again, and what it has lost is made anew.
func TestWhatAGatewayRefuses(t *testing.T) {
	isRefusal := func(err error) bool {
		_, ok := errors.AsType[*delegation.Refusal](err)
		return ok
	}
	n, h := newNear(t), holder(t, sandbox.Route{Name: "gone"})
	d := New(n, n.tell)
	if err := d.Acquire(t.Context(), h); !isRefusal(err) {
		t.Errorf("a route that is gone: %v", err)
	}
	h = holder(t, claude)
	n.fails = func(context.Context, string) error { return errAway }
	if err := d.Acquire(t.Context(), h); !errors.Is(err, errAway) || isRefusal(err) {
		t.Errorf("away: %v", err)
	}
	n.fails = nil
	if err := d.Acquire(t.Context(), h); err != nil || len(h.Spec.Sockets) != 1 {
		t.Errorf("back: %v, %+v", err, h.Spec.Sockets)
	}
	if err := d.Attested(t.Context(), *h, sandbox.Attestation{Group: "/a/../b"}); !isRefusal(err) {
		t.Errorf("a group that is none: %v", err)
	}
	n.Close(string(h.Sandbox))
	if err := d.Attested(t.Context(), *h, sandbox.Attestation{Group: "/a"}); !errors.Is(err, run.ErrGone) {
		t.Errorf("a door that it has lost: %v", err)
	}
}

// TestAGatewayThatWasNotToldYet: a gateway that comes back has no routes, or those of an earlier configuration. The run that waits for it
// does not fail for that.
func TestAGatewayThatWasNotToldYet(t *testing.T) {
	n, h := newNear(t), holder(t, claude)
	n.Use(nil, nil)
	n.told = func() error { return errAway }
	d := New(n, n.tell)
	if err := d.Acquire(t.Context(), h); !errors.Is(err, errAway) {
		t.Errorf("it cannot be told: %v", err)
	}
	n.told = func() error { useClaude(n.Gateway); return nil }
	if err := d.Acquire(t.Context(), h); err != nil || len(n.open()) != 1 {
		t.Errorf("it was told: %v, open %v", err, n.open())
	}
}

// TestAnotherProgramInItsPlace: a program that says yes to everything opens no door, and closes none.
func TestAnotherProgramInItsPlace(t *testing.T) {
	n, h := newNear(t), holder(t, claude)
	d := New(n, n.tell)
	if err := d.Acquire(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	n.tells = func(d *gateway.Door) { *d = gateway.Door{} }
	if err := d.Acquire(t.Context(), holder(t, claude)); !errors.Is(err, errStranger) {
		t.Errorf("it opens a door: %v", err)
	}
	if err := d.Attested(t.Context(), *h, sandbox.Attestation{Group: "/a"}); !errors.Is(err, errStranger) {
		t.Errorf("it serves its sandbox: %v", err)
	}
	if used, err := d.End(t.Context(), *h); !errors.Is(err, errStranger) || used.Model != nil {
		t.Errorf("it says what was spent: %+v, %v", used, err)
	}
}

// TestADirectoryOfTheHosts: the sandbox gets the directory of its door's socket, so a gateway that names another one opens no door.
func TestADirectoryOfTheHosts(t *testing.T) {
	n := newNear(t)
	d := New(n, n.tell)
	for _, path := range []string{"/run/dbus/system_bus_socket", "sock", "/run/ID", "/run/ID/../dbus/sock", "/x/ID/../ID/sock", "/var/lib/torno/gvisor/boxes/ID/socket"} {
		h := holder(t, claude)
		n.tells = func(d *gateway.Door) { d.Socket = strings.ReplaceAll(path, "ID", d.ID) }
		if err := d.Acquire(t.Context(), h); !errors.Is(err, errStranger) || len(h.Spec.Sockets) != 0 {
			t.Errorf("%s: %v, %v", path, err, h.Spec.Sockets)
		}
	}
}

// TestARunWithoutADoorAsksNothing: a gateway that takes calls and never answers is in the way of no such run.
func TestARunWithoutADoorAsksNothing(t *testing.T) {
	n, h := newNear(t), holder(t)
	d := New(n, n.tell)
	if err := d.Acquire(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if used, err := d.End(t.Context(), *h); err != nil || used.Model != nil {
		t.Errorf("%+v, %v", used, err)
	}
	if err := d.Release(t.Context(), h.Sandbox); err != nil {
		t.Error(err)
	}
	if len(n.calls) != 0 {
		t.Errorf("it was asked %v", n.calls)
	}
}

// TestADoorOfAnEarlierWatcher is closed with its run, also where today's profile has none, and what it cost is told.
func TestADoorOfAnEarlierWatcher(t *testing.T) {
	n, h, other := newNear(t), holder(t, claude), holder(t, claude)
	before := New(n, n.tell)
	for _, h := range []*run.Holder{h, other} {
		if err := before.Acquire(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	d := New(n, n.tell)
	h.Spec.Door = nil
	n.fails = func(context.Context, string) error { return errAway }
	if used, err := d.End(t.Context(), *h); err != nil || used.Model != nil {
		t.Errorf("away: %+v, %v", used, err)
	}
	if err := d.Release(t.Context(), h.Sandbox); !errors.Is(err, errAway) {
		t.Errorf("away: %v", err)
	}
	n.fails = nil
	if used, err := d.End(t.Context(), *h); err != nil || used.Model == nil || !slices.Equal(n.open(), []string{string(other.Sandbox)}) {
		t.Errorf("%+v, %v, open %v", used, err, n.open())
	}
	if err := d.Release(t.Context(), other.Sandbox); err != nil || len(n.open()) != 0 {
		t.Errorf("%v, open %v", err, n.open())
	}
	n.calls = nil
	if err := d.Release(t.Context(), sandbox.NewSandboxID()); err != nil || len(n.calls) != 0 {
		t.Errorf("asked once more: %v, %v", err, n.calls)
	}
}

// TestAQuestionThatHangs holds up no call for longer than its own context says, and no run that opens or closes a door.
func TestAQuestionThatHangs(t *testing.T) {
	n, h := newNear(t), holder(t, claude)
	d := New(n, n.tell)
	asked, answer, hung := make(chan struct{}), make(chan struct{}), make(chan error)
	n.fails = func(_ context.Context, call string) error {
		if call == "doors" {
			close(asked)
			<-answer
			return errAway
		}
		return nil
	}
	go func() { hung <- d.Release(context.WithoutCancel(t.Context()), "of-an-earlier-one") }()
	<-asked
	ended, end := context.WithCancel(t.Context())
	end()
	if err := d.Release(ended, "another"); !errors.Is(err, context.Canceled) {
		t.Errorf("its context is over: %v", err)
	}
	if err := d.Acquire(t.Context(), h); err != nil {
		t.Error(err)
	}
	if _, err := d.End(t.Context(), *h); err != nil {
		t.Error(err)
	}
	close(answer)
	if err := <-hung; !errors.Is(err, errAway) {
		t.Error(err)
	}
}

// TestAnEndWaitsBrieflyForAGatewayInTrouble: the run is answered without what it spent. The call hangs here until something ends it.
func TestAnEndWaitsBrieflyForAGatewayInTrouble(t *testing.T) {
	n, h := newNear(t), holder(t, claude)
	d := New(n, n.tell)
	if err := d.Acquire(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	n.fails = func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	d.Trouble(true)
	if _, err := d.End(t.Context(), *h); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	n.fails = nil
	if used, err := d.End(t.Context(), *h); err != nil || used.Model == nil {
		t.Errorf("a gateway that answers again: %+v, %v", used, err)
	}
}

// TestScopes: all attempts of a request share a budget, and no name of one run makes it another's.
func TestScopes(t *testing.T) {
	of := func(change func(*run.Holder)) map[string]string {
		h := holder(t, claude)
		h.Spec.Door.CountSubagent = true
		change(h)
		ids := map[string]string{}
		for _, c := range specOf(h).Claims {
			ids[c.Scope.Kind] = c.Scope.ID
		}
		return ids
	}
	first := of(func(*run.Holder) {})
	if again := of(func(h *run.Holder) { h.Key.Attempt = 2 }); again[budget.Run] != first[budget.Run] {
		t.Error("another attempt has a budget of its own")
	}
	other, err := delegation.ParseRequestID("r/2")
	if err != nil {
		t.Fatal(err)
	}
	next := of(func(h *run.Holder) { h.Key.Request = other })
	if next[budget.Run] == first[budget.Run] || next[budget.Subagent] != first[budget.Subagent] || next[budget.Tree] != first[budget.Tree] {
		t.Errorf("another request: %v, %v", first, next)
	}
	id, err := delegation.ParseSubagentID("s2")
	if err != nil {
		t.Fatal(err)
	}
	sister := of(func(h *run.Holder) { h.Key.Subagent = id })
	if sister[budget.Subagent] == first[budget.Subagent] || sister[budget.OutboxDay] != first[budget.OutboxDay] {
		t.Errorf("another subagent: %v, %v", first, sister)
	}
}
