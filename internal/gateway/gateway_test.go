package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/test/upstream/standin"
	"torno/test/wait"
)

func TestAnswers(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	number := int64(0)
	for _, path := range []string{messages, responses, chats} {
		for _, stream := range []bool{false, true} {
			status, body, err := say(t, c, path, "hello", stream)
			if err != nil || status != http.StatusOK || !strings.Contains(body, "You") || !strings.Contains(body, "llo") {
				t.Fatalf("%s, stream %v: %d, %v: %s", path, stream, status, err, body)
			}
			number++
			e := r.event(number)
			if e.Status != 200 || e.Code != "" || e.Model != "stand-in" || !e.Counted || e.Usage.Input != standin.InputTokens || e.Usage.Output != standin.OutputTokens {
				t.Errorf("%s, stream %v: %+v", path, stream, e)
			}
		}
	}
	if use := r.ledger.Use(spec("run").Claims[0].Scope); use.Spent.InputTokens != 6*standin.InputTokens || use.Spent.Requests != 6 || use.Open != (budget.Amount{}) {
		t.Errorf("the ledger has %+v", use)
	}
}

func TestToolUse(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	for _, path := range []string{messages, responses, chats} {
		status, body, err := say(t, c, path, `#tool Bash {"command":"ls"}`, true)
		if err != nil || status != http.StatusOK || !strings.Contains(body, "Bash") {
			t.Errorf("%s: %d, %v: %s", path, status, err, body)
		}
	}
}

// TestNothingIsBuffered: the client has each event before the upstream sends the next one.
func TestNothingIsBuffered(t *testing.T) {
	r := newRig(t)
	r.up.Step = make(chan struct{})
	c := r.open(spec("run"))
	response, err := c.Do(ask(messages, "hello", true))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	var names []string
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		}
		if lines.Text() == "" && len(names) < 8 { // an event has ended
			r.up.Step <- struct{}{}
		}
	}
	if len(names) != 8 || names[7] != "message_stop" {
		t.Errorf("got %v", names)
	}
}

func TestParallelStreams(t *testing.T) {
	r := newRig(t)
	r.up.Step = make(chan struct{})
	const doors, each = 4, 50
	var all sync.WaitGroup
	begun := make(chan struct{}, doors*each)
	for i := range doors {
		c := r.open(spec("run" + string(rune('a'+i))))
		for range each {
			all.Go(func() {
				response, err := c.Do(ask(messages, "hello", true))
				if err != nil {
					t.Error(err)
					begun <- struct{}{}
					return
				}
				defer response.Body.Close()
				begun <- struct{}{}
				body, err := io.ReadAll(response.Body)
				if err != nil || !strings.Contains(string(body), "message_stop") {
					t.Errorf("%v: %s", err, body)
				}
			})
		}
	}
	for range doors * each { // all of them are under way at once
		<-begun
	}
	close(r.up.Step)
	all.Wait()
}

// TestClientCredentialsAreDropped: exactly the route's own is set, whatever the client sends.
func TestClientCredentialsAreDropped(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	request := ask(messages, "hello", false)
	for name, value := range map[string]string{
		"Authorization": "Bearer forged", "X-Api-Key": "forged", "Cookie": "forged=1", "Proxy-Authorization": "forged", "X-Goog-Api-Key": "forged",
		"Api-Key": "forged", "X-Forwarded-For": "forged", "Connection": "x-api-key",
	} {
		request.Header.Set(name, value)
	}
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	seen := r.up.Seen()[0]
	for name, values := range seen.Header {
		for _, value := range values {
			if strings.Contains(value, "forged") || value == secret && name != "X-Api-Key" {
				t.Errorf("%s: %s arrived", name, value)
			}
		}
	}
	if got := seen.Header["X-Api-Key"]; len(got) != 1 || got[0] != secret {
		t.Errorf("the credential arrived as %q", got)
	}
}

// TestAKeyIsExchanged: an upstream that takes another key now is answered with it at the client's next try.
func TestAKeyIsExchanged(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	const other = "sk-other-9876543210fedcba"
	r.key.next = other
	r.up.Rotate(other)
	if status, body, err := say(t, c, messages, "hello", false); err != nil || status != http.StatusUnauthorized || strings.Contains(body, secret) {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	if status, body, err := say(t, c, messages, "hello", false); err != nil || status != http.StatusOK {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	if e := r.event(1); e.Cost != noModel || !e.Counted {
		t.Errorf("a refusal cost %+v", e.Cost)
	}
}

func limited(id string, l budget.Limits) Spec {
	s := spec(id)
	s.Claims[0].Limits = l
	return s
}

func number(n int64) *int64 { return &n }

// TestBudgets: what a budget does not allow never leaves, and the client gets what it shows and does not try again.
func TestBudgets(t *testing.T) {
	for name, test := range map[string]struct {
		limits budget.Limits
		pass   int
	}{
		"none at all":  {budget.Limits{Requests: number(0)}, 0},
		"two requests": {budget.Limits{Requests: number(2)}, 2},
		// The bound of one is 100 tokens out; it says three.
		"tokens out": {budget.Limits{OutputTokens: number(105)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := r.open(limited("run", test.limits))
			for range test.pass {
				if status, body, err := say(t, c, messages, "hello", true); err != nil || status != http.StatusOK {
					t.Fatalf("%d, %v: %s", status, err, body)
				}
			}
			status, body, err := say(t, c, messages, "hello", true)
			if err != nil || status != http.StatusBadRequest || !strings.Contains(body, `"type":"error"`) || !strings.Contains(body, "budget of run run") {
				t.Errorf("%d, %v: %s", status, err, body)
			}
			if got := len(r.up.Seen()); got != test.pass {
				t.Errorf("%d requests arrived", got)
			}
			if e := r.event(int64(test.pass) + 1); e.Code != "budget" || e.Cost != (budget.Amount{}) {
				t.Errorf("the event is %+v", e)
			}
		})
	}
}

// TestOnlyWhatWasNotSentIsFree: where no byte was sent nothing counts, and everywhere else what was reserved does.
func TestOnlyWhatWasNotSentIsFree(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	say(t, c, messages, "#cut", true)
	if e := r.event(1); e.Code != "upstream_cut" || e.Counted || e.Cost.OutputTokens != 100 || e.Cost.Requests != 1 {
		t.Errorf("an answer that broke off: %+v", e)
	}
	if use := r.ledger.Use(spec("run").Claims[0].Scope); use.Spent.OutputTokens != 100 || use.Open != (budget.Amount{}) {
		t.Errorf("the ledger has %+v", use)
	}
	dead := r.upstream("claude", "anthropic")
	dead.Transport = refusing{}
	r.g.Use([]*Upstream{dead}, nil)
	if status, body, err := say(t, c, messages, "hello", true); err != nil || status != http.StatusBadGateway || strings.Contains(body, secret) {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	if e := r.event(2); e.Code != "upstream" || e.Cost != (budget.Amount{}) {
		t.Errorf("an upstream that is not there: %+v", e)
	}
	if use := r.ledger.Use(spec("run").Claims[0].Scope); use.Spent.OutputTokens != 100 || use.Spent.Requests != 1 {
		t.Errorf("the ledger has %+v", use)
	}
}

// refusing is an upstream that is not there. Its error has the credential in it.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("cannot connect with " + r.Header.Get("X-Api-Key"))
}

// TestADoorCloses: what is under way is cut off on both sides, and the socket is gone.
func TestADoorCloses(t *testing.T) {
	r := newRig(t)
	r.up.Step, r.up.Gone = make(chan struct{}), make(chan struct{}, 1)
	c := r.open(spec("run"))
	response, err := c.Do(ask(messages, "hello", true))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	idle := r.dial("run") // it has had an answer, and waits for a next request
	defer idle.Close()
	io.WriteString(idle, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(idle), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	answer.Body.Close()
	closed, ok := r.g.Close("run")
	if n, err := idle.Read(make([]byte, 1)); err == nil {
		t.Errorf("a connection without a request got %d bytes", n)
	}
	if !ok || closed.Open != 0 || closed.Requests != 2 {
		t.Errorf("closed %v, %+v", ok, closed)
	}
	<-r.up.Gone
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("the client took a cut answer for a whole one")
	}
	e := r.event(1)
	if e.Code == "" { // that is the request before, whose end may be told first or last
		e = r.event(2)
	}
	if e.Code != "door_closed" || e.Counted || e.Cost.OutputTokens != 100 {
		t.Errorf("the event is %+v", e)
	}
	if status, _, err := say(t, c, messages, "hello", false); err == nil {
		t.Errorf("a closed door answers %d", status)
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, ok := r.g.Close("run"); ok {
		t.Error("it was closed twice")
	}
}

func TestAClientGoes(t *testing.T) {
	r := newRig(t)
	r.up.Step, r.up.Gone = make(chan struct{}), make(chan struct{}, 1)
	c := r.open(spec("run"))
	ctx, cancel := context.WithCancel(t.Context())
	response, err := c.Do(ask(messages, "hello", true).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	// It has all that was sent, so that no write to it fails, and only its going can be noticed.
	if line, err := bufio.NewReader(response.Body).ReadString('}'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	response.Body.Close()
	<-r.up.Gone
	if e := r.event(1); e.Code != "client_gone" || e.Cost.OutputTokens != 100 {
		t.Errorf("the event is %+v", e)
	}
}

// TestADoorEndsByItself: a door whose watcher is gone for ever lasts no longer than it was told.
func TestADoorEndsByItself(t *testing.T) {
	r := newRig(t)
	s := spec("run")
	s.Lasts = Duration(20 * time.Millisecond)
	r.open(s)
	wait.Until(t, "the door is closed", func() bool { return len(r.g.Doors()) == 0 })
}

// TestDoorsAreFoundAgain: a gateway that begins after one that was killed has its doors, at the same place, and not those
// whose time is over.
func TestDoorsAreFoundAgain(t *testing.T) {
	r := newRig(t)
	r.open(spec("run"))
	over := spec("over")
	over.Lasts = 1
	r.g.mu.Lock()
	if err := r.g.save(over); err != nil {
		t.Fatal(err)
	}
	r.g.mu.Unlock()
	if err := os.WriteFile(r.g.specFile("torn"), []byte(`{"spec":`), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	r.g.Shut(ended)
	r.g = r.gateway()
	if err := r.g.Restore(); err != nil {
		t.Fatal(err)
	}
	doors := r.g.Doors()
	if len(doors) != 1 || doors[0].ID != "run" {
		t.Fatalf("the doors are %+v", doors)
	}
	if status, body, err := say(t, client(t, doors[0].Socket), messages, "hello", false); err != nil || status != http.StatusOK {
		t.Errorf("%d, %v: %s", status, err, body)
	}
	if left, err := filepath.Glob(r.dir + "/.*.json"); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := r.g.Open(spec("run")); err != nil {
		t.Errorf("the watcher asks again: %v", err)
	}
	other := limited("run", budget.Limits{Requests: number(1)})
	if _, err := r.g.Open(other); !errors.Is(err, ErrOther) {
		t.Errorf("another door of the same id: %v", err)
	}
}

// TestARefusalForABudgetIsRemembered by the next gateway, however this one ended: the end of the run tells it.
func TestARefusalForABudgetIsRemembered(t *testing.T) {
	r := newRig(t)
	c := r.open(limited("run", budget.Limits{Requests: number(1)}))
	for _, want := range []int{http.StatusOK, http.StatusBadRequest} {
		if status, body, err := say(t, c, messages, "hello", false); err != nil || status != want {
			t.Fatalf("%d, %v: %s", status, err, body)
		}
	}
	r.event(2)
	wait.Until(t, "it is written down", func() bool {
		raw, err := os.ReadFile(r.g.specFile("run"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse("run", raw) // as after a kill
		return err == nil && s.Tally.Codes[route.CodeBudget] == 1
	})
	if status, _, err := say(t, c, messages, "hello", false); err != nil || status != http.StatusBadRequest {
		t.Fatalf("%d, %v", status, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	r.g.Shut(ended)
	r.g = r.gateway()
	if err := r.g.Restore(); err != nil {
		t.Fatal(err)
	}
	closed, _ := r.g.Close("run")
	if closed.Codes[route.CodeBudget] != 2 || closed.Requests != 3 || closed.Open != 0 {
		t.Errorf("the door's counts are %+v", closed.Tally)
	}
}

// TestShutWaits: what is under way comes to its end, and nothing new begins.
func TestShutWaits(t *testing.T) {
	r := newRig(t)
	r.up.Step = make(chan struct{})
	c := r.open(spec("run"))
	response, err := c.Do(ask(messages, "hello", true))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	done := make(chan struct{})
	go func() {
		r.g.Shut(t.Context())
		close(done)
	}()
	close(r.up.Step)
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "message_stop") {
		t.Errorf("%v: %s", err, body)
	}
	<-done
	if _, err := r.g.Open(spec("other")); !errors.Is(err, ErrDraining) {
		t.Errorf("a door opens: %v", err)
	}
}

func TestBadDoors(t *testing.T) {
	r := newRig(t)
	for name, change := range map[string]func(*Spec){
		"no id":               func(s *Spec) { s.ID = "" },
		"an id that climbs":   func(s *Spec) { s.ID = "../x" },
		"an id with a slash":  func(s *Spec) { s.ID = "a/b" },
		"a hidden id":         func(s *Spec) { s.ID = ".x" },
		"no routes":           func(s *Spec) { s.Routes = nil },
		"no such route":       func(s *Spec) { s.Routes = []Way{{Route: "gone"}} },
		"two routes, one way": func(s *Spec) { s.Routes = []Way{{Route: "claude"}, {Route: "codex"}} },
		"a prefix that is no": func(s *Spec) { s.Routes[1].Prefix = "/.." },
		"no budget":           func(s *Spec) { s.Claims = nil },
		"no end":              func(s *Spec) { s.Lasts = 0 },
		"every group":         func(s *Spec) { s.Peer = Peer{Cgroup: "/"} },
		"a group that climbs": func(s *Spec) { s.Peer = Peer{Cgroup: "/a/../b"} },
		"a group above":       func(s *Spec) { s.Peer = Peer{Cgroup: "/.."} },
		"the top, from below": func(s *Spec) { s.Peer = Peer{Cgroup: "/../"} },
		"no path":             func(s *Spec) { s.Peer = Peer{Cgroup: "a"} },
		"from below, climbs":  func(s *Spec) { s.Peer = Peer{Cgroup: "/../a/.."} },
	} {
		s := spec("run")
		change(&s)
		if _, err := r.g.Open(s); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNoRoute) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
