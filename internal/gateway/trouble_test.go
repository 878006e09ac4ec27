package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strings"
	"syscall"
	"testing"

	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// TestARouteInTroubleIsTold breaks a route in several ways, and expects its trouble until it answers. A timeout, which a child can cause, changes nothing.
func TestARouteInTroubleIsTold(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	wants := func(after string, want Wrong) {
		t.Helper()
		var got Wrong
		all := r.g.Troubles()
		if len(all) > 0 {
			got = all[0].Wrong
		}
		if len(all) > 1 || got != want || want != "" && (all[0].Route != "claude" || all[0].Text == "" || all[0].Since.IsZero()) {
			t.Errorf("after %s: %+v, want %q", after, all, want)
		}
	}
	asks := func(err error) {
		t.Helper()
		u := r.upstream("claude", "anthropic")
		switch {
		case errors.Is(err, errSilent):
			u.Transport = connected{os.ErrDeadlineExceeded}
		case errors.Is(err, errCutOff):
			u.Transport = connected{syscall.ECONNRESET}
		case err != nil:
			u.Transport = broken{err}
		}
		r.g.Use([]*Upstream{u}, nil)
		if _, _, err := say(t, c, messages, "hello", false); err != nil {
			t.Fatal(err)
		}
	}
	wants("nothing", "")
	asks(&net.DNSError{Err: "no such host", Name: "inner.example"})
	wants("a name that is not found", WrongName)
	asks(errSilent)
	wants("a silence, which tells nothing,", WrongName)
	asks(nil)
	wants("an answer", "")
	asks(errSilent)
	wants("a silence", "")
	asks(dial.ErrRedirect)
	wants("a redirect", "")
	asks(os.ErrDeadlineExceeded)
	wants("a connection that was not made in time", WrongUpstream)
	asks(nil)
	asks(errCutOff)
	wants("a connection that the upstream closes on what a child sends", "")
	asks(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	wants("a refused connection", WrongUpstream)
	r.up.Rotate("sk-other")
	asks(nil)
	wants("a refused credential", WrongCredential)
	tries := func(want Wrong) {
		t.Helper()
		if tried, err := r.g.Try(t.Context(), "claude", ""); err != nil || tried.Wrong != want {
			t.Errorf("%+v, %v", tried, err)
		}
	}
	r.up.Rotate(secret)
	tries("")
	wants("a trial, which may have shown nothing of the credential,", WrongCredential)
	asks(nil)
	wants("an exchange that went well", "")
	r.up.Rotate("sk-other")
	asks(nil)
	tries(WrongCredential)
	r.up.Rotate(secret)
	tries("")
	wants("a trial that went well after one that did not", "")
	u := r.upstream("claude", "anthropic")
	u.Transport = broken{&net.DNSError{Err: "no such host", Name: "inner.example"}}
	r.g.Use([]*Upstream{u}, nil)
	if _, err := r.g.Try(t.Context(), "claude", ""); err != nil {
		t.Error(err)
	}
	wants("a trial that failed", WrongName)
	r.g.Use(nil, nil)
	wants("its end", "")
}

// TestAClientThatLeavesForgesNoTrouble: it goes while the credential is read.
func TestAClientThatLeavesForgesNoTrouble(t *testing.T) {
	r := newRig(t)
	c := r.open(spec("run"))
	u, reads := r.upstream("claude", "anthropic"), make(leaving)
	u.Credential = reads
	r.g.Use([]*Upstream{u}, nil)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-reads; leave() }()
	if response, err := c.Do(ask(messages, "hello", false).WithContext(ctx)); err == nil {
		response.Body.Close()
		t.Errorf("it has an answer: %s", response.Status)
	}
	if e := r.event(1); e.Code != "client_gone" {
		t.Errorf("its event is %+v", e)
	}
	if all := r.g.Troubles(); len(all) > 0 {
		t.Errorf("it says %+v", all)
	}
}

// TestATrialClearsWhatItDisproves: that the credential cannot be had or is refused, once a trial has used it, also where it finds another trouble.
func TestATrialClearsWhatItDisproves(t *testing.T) {
	to := &route.Route{Name: "claude", API: route.Anthropic}
	for what, begin := range map[string]func(*troubles){
		"a trial was refused":      func(ts *troubles) { ts.noteTrial(to, Tried{Wrong: WrongCredential, answered: true}) },
		"it could not be had once": func(ts *troubles) { ts.noteNoCredential(to.Name) },
	} {
		ts := &troubles{byRoute: map[string]ailments{}}
		begin(ts)
		ts.noteTrial(to, Tried{Wrong: WrongModel, answered: true})
		if a := ts.byRoute[to.Name]; a.credential.Wrong != "" || a.model.Wrong != WrongModel {
			t.Errorf("%s: %+v", what, a)
		}
		ts.noteTrial(to, Tried{answered: true})
		if len(ts.byRoute) > 0 {
			t.Errorf("%s: %+v", what, ts.byRoute)
		}
	}
}

// TestWhatATrialSaysOfARoute: a busy upstream is no trouble, and neither is a registry that refuses to show its top page.
func TestWhatATrialSaysOfARoute(t *testing.T) {
	r := newRig(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusFound {
			w.Header().Set("Location", "http://example.com/")
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	npm := r.toward(r.upstream("npm", "npm"), server.URL, dial.Rule{Private: true})
	claude := r.toward(r.upstream("claude", "anthropic"), server.URL, dial.Rule{Private: true})
	r.g.Use([]*Upstream{npm, claude}, nil)
	for _, c := range []struct {
		status int
		want   string
	}{{http.StatusServiceUnavailable, ""}, {http.StatusForbidden, "claude"}, {http.StatusOK, ""}} {
		status = c.status
		var wrong []string
		for _, name := range []string{"npm", "claude"} {
			if _, err := r.g.Try(t.Context(), name, ""); err != nil {
				t.Error(err)
			}
		}
		for _, trouble := range r.g.Troubles() {
			wrong = append(wrong, trouble.Route)
		}
		if got := strings.Join(wrong, " "); got != c.want {
			t.Errorf("after %d: %q", status, got)
		}
	}
	broke := *npm
	broke.Transport = broken{&net.DNSError{Err: "no such host", Name: "inner.example"}}
	for _, u := range []*Upstream{&broke, npm} {
		r.g.Use([]*Upstream{u}, nil)
		status = http.StatusForbidden
		if _, err := r.g.Try(t.Context(), "npm", ""); err != nil || (len(r.g.Troubles()) > 0) != (u == &broke) {
			t.Errorf("of a registry that is away, and then refuses its top: %+v, %v", r.g.Troubles(), err)
		}
	}
	status = http.StatusFound
	if tried, err := r.g.Try(t.Context(), "npm", ""); err != nil || tried.Wrong != "" {
		t.Errorf("of a registry whose top is elsewhere it says %+v, %v", tried, err)
	}
}

// connected has a connection, and then an error.
type connected struct{ err error }

var errSilent, errCutOff = errors.New("silent"), errors.New("cut off")

func (c connected) RoundTrip(r *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	return nil, c.err
}

// leaving is a credential that is being read for as long as its reader waits.
type leaving chan struct{}

func (l leaving) Header(ctx context.Context) (name, value string, err error) {
	close(l)
	<-ctx.Done()
	return "", "", ctx.Err()
}

func (leaving) Refused(context.Context) {}
