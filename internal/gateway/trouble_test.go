package gateway

import (
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
			u.Transport = silent{}
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
	asks(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	wants("a refused connection", WrongUpstream)
	r.up.Rotate("sk-other")
	asks(nil)
	wants("a refused credential", WrongCredential)
	r.up.Rotate(secret)
	if tried, err := r.g.Try(t.Context(), "claude", ""); err != nil || tried.Wrong != "" {
		t.Errorf("%+v, %v", tried, err)
	}
	wants("a trial that went well", "")
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

// TestWhatATrialSaysOfARoute: that an upstream is busy says nothing, nor does what a registry answers to those who ask for its top.
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
	status = http.StatusFound
	if tried, err := r.g.Try(t.Context(), "npm", ""); err != nil || tried.Wrong != "" {
		t.Errorf("of a registry whose top is elsewhere it says %+v, %v", tried, err)
	}
}

// silent has a connection and no answer.
type silent struct{}

var errSilent = errors.New("silent")

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	return nil, os.ErrDeadlineExceeded
}
