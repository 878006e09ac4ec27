package gateway

import (
	"net"
	"os"
	"syscall"
	"testing"
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
		if err != nil {
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
	asks(os.ErrDeadlineExceeded)
	wants("a silence, which tells nothing,", WrongName)
	asks(nil)
	wants("an answer", "")
	asks(os.ErrDeadlineExceeded)
	wants("a silence", "")
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
