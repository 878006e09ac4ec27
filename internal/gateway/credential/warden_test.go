package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/gateway/route"
	"torno/test/missing"
	"torno/test/wait"
)

// accessTo is a gateway's way to a warden that knows these routes.
func accessTo(t *testing.T, routes ...*route.Route) *Access {
	t.Helper()
	wardens, gateways, err := Asks()
	if err != nil {
		t.Fatal(err)
	}
	w := &Warden{Routes: func() ([]*route.Route, error) { return routes, nil }, Setup: func() ([]byte, error) { return []byte("routes: {}"), nil }}
	done := make(chan error, 1)
	go func() { done <- w.Serve(t.Context(), wardens) }()
	conn, err := ConnOf(gateways)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := <-done; err != nil {
			t.Errorf("the warden ends with %v", err)
		}
	})
	return NewAccess(conn)
}

func routed(name string, c route.Credential) *route.Route {
	return &route.Route{Name: name, Credential: c}
}

// TestAWardenReads what a route's credential is, of each kind.
func TestAWardenReads(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "print")
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "named"), []byte("named-0123456789\n"), 0o600),
		os.WriteFile(script, []byte("#!/bin/sh\necho printed-0123456789\n"), 0o755),
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for _, r := range []struct {
		of   route.Credential
		want string
	}{
		{route.Credential{Kind: "file", Path: written(t, "file-0123456789\n"), Header: "X-Api-Key"}, "file-0123456789"},
		{route.Credential{Kind: "systemd", Name: "named", Header: "X-Api-Key"}, "named-0123456789"},
		{route.Credential{Kind: "command", Command: []string{script}, Header: "X-Api-Key"}, "printed-0123456789"},
		{route.Credential{Kind: "claude", Path: written(t, claudes("login-0123456789", "refresh", time.Now().Add(time.Hour)))}, "Bearer login-0123456789"},
	} {
		known := NewKnown()
		source, err := accessTo(t, routed("it", r.of)).Open(routed("it", r.of), known)
		if err != nil {
			t.Fatal(err)
		}
		if got := header(t, source); got != r.want {
			t.Errorf("%s: %q", r.of.Kind, got)
		}
		if shown := known.Scrub("x " + r.want); strings.Contains(shown, "0123456789") {
			t.Errorf("%s: its secret is not taken out: %s", r.of.Kind, shown)
		}
	}
}

// TestAWardenPassesOnNoOtherLogin: a file has more than the route's credential, and a gateway that was taken over asks for all of it.
func TestAWardenPassesOnNoOtherLogin(t *testing.T) {
	end := time.Now().Add(time.Hour)
	login := strings.Replace(claudes("login-0123456789", "refresh-0123456789", end), "{", `{"mcpOAuth":{"accessToken":"other-secret"},`, 1)
	login = strings.Replace(login, `"claudeAiOauth":{`, `"claudeAiOauth":{"id_token":"other-secret",`, 1)
	if !strings.Contains(login, `"claudeAiOauth":{"id_token"`) {
		t.Fatal(login)
	}
	for _, r := range []struct {
		of   route.Credential
		want string
	}{
		{route.Credential{Kind: "claude", Path: written(t, login)}, "login-0123456789"},
		{route.Credential{Kind: "aws", Path: written(t, "[default]\naws_access_key_id = A\naws_secret_access_key = own-0123456789\n[prod]\naws_secret_access_key = other-secret\n")}, "own-0123456789"},
	} {
		got, err := accessTo(t, routed("it", r.of)).ask(t.Context(), ask{What: askRead, Route: "it"})
		if err != nil || !strings.Contains(got.Text, r.want) || strings.Contains(got.Text, "other-secret") {
			t.Errorf("%s: %q, %v", r.of.Kind, got.Text, err)
		}
	}
}

// TestAWardenReadsNothingElse: the gateway names a route that the watcher has said, or hears that there is none. What it says of the place
// itself counts for nothing.
func TestAWardenReadsNothingElse(t *testing.T) {
	secret := written(t, "of-another-0123456789\n")
	known := routed("known", route.Credential{Kind: "file", Path: written(t, "its-own-0123456789\n"), Header: "X-Api-Key"})
	bare := routed("bare", route.Credential{})
	access := accessTo(t, known, bare)
	lies := routed("known", route.Credential{Kind: "file", Path: secret, Header: "X-Api-Key"})
	source, err := access.Open(lies, NewKnown())
	if err != nil {
		t.Fatal(err)
	}
	if got := header(t, source); got != "its-own-0123456789" {
		t.Errorf("a gateway that says another place gets %q", got)
	}
	for _, a := range []ask{
		{What: askRead, Route: secret},
		{What: askRead, Route: "bare"},
		{What: askRoots, Route: secret},
		{What: askRoots, Route: "known"},
		{What: askSave, Route: "known", Spent: "its-own-0123456789", Said: `{"access_token":"planted"}`},
		{What: askLock, Route: "known"},
		{What: "exec", Route: "known"},
		{},
	} {
		if r, err := access.ask(t.Context(), a); err == nil || errors.Is(err, ErrNoWarden) || strings.Contains(r.Text, "0123456789") {
			t.Errorf("%+v is answered %q, %v", a, r.Text, err)
		}
	}
	if text, err := os.ReadFile(known.Credential.Path); err != nil || string(text) != "its-own-0123456789\n" {
		t.Errorf("the credential is %q, %v", text, err)
	}
}

// TestAWardenReadsRoots, but none that another user could replace.
func TestAWardenReadsRoots(t *testing.T) {
	r := &route.Route{Name: "a", Roots: written(t, "roots")}
	access := accessTo(t, r)
	if text, err := access.Roots(t.Context(), "a"); err != nil || string(text) != "roots" {
		t.Errorf("they are %q, %v", text, err)
	}
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root gives directories away")
	}
	if err := os.Chown(filepath.Dir(r.Roots), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if text, err := access.Roots(t.Context(), "a"); err == nil {
		t.Errorf("below a directory of another user they are %q", text)
	}
}

// TestAWardenKeepsALogin: new tokens are in its file, and nothing else of it is another one. Nobody else trades meanwhile.
func TestAWardenKeepsALogin(t *testing.T) {
	path := written(t, claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)))
	r := routed("claude", route.Credential{Kind: "claude", Path: path})
	access := accessTo(t, r)
	source, err := access.Open(r, NewKnown())
	if err != nil {
		t.Fatal(err)
	}
	s := &server{good: "refresh-token-0"}
	locked := 0
	s.then = func() {
		unlock, held, err := loginFile{claude, path}.lock(t.Context())
		if err == nil {
			unlock()
			t.Error("another gateway could trade the same token")
		}
		if held {
			locked++
		}
	}
	source.(*login).send = s.send
	if got := header(t, source); got != "Bearer access-token-1" || s.asked != 1 || locked != 1 {
		t.Errorf("%q, asked %d times, locked %d", got, s.asked, locked)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "refresh-token-1") || !strings.Contains(string(text), "user:inference") {
		t.Errorf("%s, %v", text, err)
	}
	// What the server said is all that a gateway can put there, and only in the place of what it traded.
	for _, planted := range []ask{
		{What: askSave, Route: "claude", Spent: "refresh-token-0", Said: `{"access_token":"planted-0123456789","refresh_token":"planted-0123456789"}`},
		{What: askSave, Route: "claude", Spent: "refresh-token-1", Said: `{"access_token":"","mcpServers":{"x":{"command":"planted-0123456789"}}}`},
		{What: askSave, Route: "claude", Spent: "refresh-token-1", Said: `planted-0123456789`},
	} {
		_, _ = access.ask(t.Context(), planted) // an error or nothing
		if now, err := os.ReadFile(path); err != nil || strings.Contains(string(now), "planted") {
			t.Errorf("%s has put %s into the login, %v", planted.Said, now, err)
		}
	}
	waited := make(chan struct{})
	go func() { // the lock was let go of
		defer close(waited)
		unlock, err := alone(t.Context(), loginFile{claude, path})
		if err != nil {
			t.Error(err)
			return
		}
		unlock()
	}()
	<-waited
}

// TestAWardenIsGone: that is said, and no secret is in it.
func TestAWardenIsGone(t *testing.T) {
	wardens, gateways, err := Asks()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ConnOf(gateways)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	wardens.Close()
	source, err := NewAccess(conn).Open(routed("it", route.Credential{Kind: "file", Path: "/nowhere", Header: "X-Api-Key"}), NewKnown())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := source.Header(t.Context()); !errors.Is(err, ErrNoWarden) {
		t.Errorf("%v", err)
	}
}

// TestAWardenTakesNonsense: what a gateway sends that is no question ends nothing.
func TestAWardenTakesNonsense(t *testing.T) {
	r := routed("it", route.Credential{Kind: "file", Path: written(t, "file-0123456789\n"), Header: "X-Api-Key"})
	access := accessTo(t, r)
	for _, text := range []string{"x", strings.Repeat("x", 10_000)} {
		if _, err := access.asks.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for range maxLines + 1 { // a question that breaks off gives its place back
		conn, err := send(access.asks)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, `{"what":`)
		conn.Close()
	}
	if got, err := access.ask(t.Context(), ask{What: askRead, Route: "it"}); err != nil || got.Text != "file-0123456789\n" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

// TestAWardenKeepsNoDescriptors: a message brings more descriptors than there is room for. The kernel installs some of them.
func TestAWardenKeepsNoDescriptors(t *testing.T) {
	warden, gateways, err := Asks()
	if err != nil {
		t.Fatal(err)
	}
	defer warden.Close()
	asks, err := ConnOf(gateways)
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _, err = asks.WriteMsgUnix([]byte{0}, unix.UnixRights(int(w.Fd()), int(w.Fd()), int(w.Fd())), nil)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if conn, err := receive(warden); conn != nil || err != nil {
		t.Fatalf("%v, %v", conn, err)
	}
	if err := r.SetReadDeadline(time.Now().Add(wait.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the warden still has a descriptor of the message: %v", err)
	}
}

// TestAWardenEndsBehindOpenConnections: a gateway that was taken over has opened more connections than there are places,
// and has given its ends to somebody who outlives it.
func TestAWardenEndsBehindOpenConnections(t *testing.T) {
	wardens, gateways, err := Asks()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ConnOf(gateways)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- new(Warden).Serve(ctx, wardens) }()
	for range maxLines + 1 {
		kept, err := send(conn)
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the warden has received all", func() bool {
		waiting := -1
		if err := raw.Control(func(fd uintptr) { waiting, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); err != nil {
			t.Fatal(err)
		}
		return waiting == 0
	})
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(wait.Patience):
		t.Fatal("the warden waits for a place")
	}
}
