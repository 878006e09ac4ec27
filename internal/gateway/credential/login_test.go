package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/internal/gateway/route"
)

// server is the stand-in for a token's server. It gives each refresh token away once, as the real ones do.
type server struct {
	asked  int
	good   string // the refresh token that it takes
	status int
	then   func() // before it answers
}

func (s *server) send(req *http.Request) (*http.Response, error) {
	var ask map[string]string
	if err := json.NewDecoder(req.Body).Decode(&ask); err != nil {
		return nil, err
	}
	s.asked++
	if s.then != nil {
		s.then()
	}
	if s.status != 0 || ask["refresh_token"] != s.good || ask["grant_type"] != "refresh_token" || ask["client_id"] == "" {
		return answered(max(s.status, 400), `{"error":"invalid_grant","refresh_token":"`+ask["refresh_token"]+`"}`), nil
	}
	s.good = fmt.Sprintf("refresh-token-%d", s.asked)
	return answered(200, fmt.Sprintf(`{"access_token":"access-token-%d","refresh_token":%q,"id_token":"id-%d","expires_in":3600}`, s.asked, s.good, s.asked)), nil
}

func answered(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
}

// claudes is the file of a login of Claude Code, which ends at a time.
func claudes(access, refresh string, end time.Time) string {
	return fmt.Sprintf(`{"claudeAiOauth":{"accessToken":%q,"refreshToken":%q,"expiresAt":%d,"scopes":["user:inference"],"subscriptionType":"max"},"other":{"kept":1}}`,
		access, refresh, end.UnixMilli())
}

func loginOf(t *testing.T, kind, text string, s *server) *login {
	t.Helper()
	path := written(t, text)
	opened, err := Open(route.Credential{Kind: kind, Path: path}, NewKnown())
	if err != nil {
		t.Fatal(err)
	}
	l := opened.(*login)
	l.send = s.send
	return l
}

// TestALoginIsHeld: its token is used until it ends, then traded for another one, which the file has from then on.
func TestALoginIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{good: "refresh-token-0"}
		l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(time.Hour)), s)
		if got := header(t, l); got != "Bearer access-token-0" || s.asked != 0 {
			t.Errorf("%q, asked %d times", got, s.asked)
		}
		time.Sleep(2 * time.Hour)
		if got := header(t, l); got != "Bearer access-token-1" || s.asked != 1 {
			t.Errorf("after its end: %q, asked %d times", got, s.asked)
		}
		text, err := os.ReadFile(l.home.(loginFile).path)
		if err != nil || !strings.Contains(string(text), "refresh-token-1") || !strings.Contains(string(text), `"kept":1`) &&
			!strings.Contains(string(text), `"kept": 1`) || !strings.Contains(string(text), "user:inference") {
			t.Errorf("the file: %s, %v", text, err)
		}
		if info, err := os.Stat(l.home.(loginFile).path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if left, err := os.ReadDir(filepath.Dir(l.home.(loginFile).path)); err != nil || len(left) != 1 {
			t.Errorf("beside the file lie %v, %v", left, err)
		}
		time.Sleep(time.Minute)
		l.Refused(t.Context())
		if got := header(t, l); got != "Bearer access-token-2" || s.asked != 2 {
			t.Errorf("after a refusal: %q, asked %d times", got, s.asked)
		}
		for range 5 {
			l.Refused(t.Context())
			header(t, l)
		}
		if s.asked != 2 {
			t.Errorf("refusals in a row ask %d times", s.asked)
		}
	})
}

// TestTwoRefreshALogin: two routes, or two gateways, of one login trade its refresh token once. A server that sees a token twice
// may take the whole login for stolen.
func TestTwoRefreshALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{good: "refresh-token-0"}
		one := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), s)
		opened, err := Open(route.Credential{Kind: "claude", Path: one.home.(loginFile).path}, NewKnown())
		if err != nil {
			t.Fatal(err)
		}
		other := opened.(*login)
		other.send = s.send
		second := make(chan string, 1)
		s.then = func() {
			s.then = nil
			go func() {
				_, value, err := other.Header(t.Context())
				second <- fmt.Sprint(value, err)
			}()
			time.Sleep(time.Second)
		}
		if got := header(t, one); got != "Bearer access-token-1" {
			t.Errorf("the first one has %q", got)
		}
		if got := <-second; got != "Bearer access-token-1<nil>" || s.asked != 1 {
			t.Errorf("the second one has %q, and the server was asked %d times", got, s.asked)
		}
	})
}

// TestTheFileChangesMeanwhile: what its program writes there while new tokens come is kept, and a new login of a person's counts.
func TestTheFileChangesMeanwhile(t *testing.T) {
	for name, test := range map[string]struct{ text, header string }{
		"something else": {strings.Replace(claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), `"kept":1`, `"kept":"new"`, 1), "Bearer access-token-1"},
		"a new login":    {strings.Replace(claudes("access-token-9", "refresh-token-9", time.Now().Add(time.Hour)), `"kept":1`, `"kept":"new"`, 1), "Bearer access-token-9"},
	} {
		s := &server{good: "refresh-token-0"}
		l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), s)
		s.then = func() {
			if err := os.WriteFile(l.home.(loginFile).path, []byte(test.text), 0o600); err != nil {
				t.Error(err)
			}
		}
		if got := header(t, l); got != test.header {
			t.Errorf("%s: %q", name, got)
		}
		text, err := os.ReadFile(l.home.(loginFile).path)
		if err != nil || !strings.Contains(string(text), `"new"`) || !strings.Contains(string(text), strings.TrimPrefix(test.header, "Bearer ")) {
			t.Errorf("%s: the file has %s, %v", name, text, err)
		}
	}
}

// TestTheProgramOnTheHostWasFaster: its tokens count, and ours is not asked for with a spent one.
func TestTheProgramOnTheHostWasFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{good: "refresh-token-9"}
		l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), s)
		s.then = func() {
			if err := os.WriteFile(l.home.(loginFile).path, []byte(claudes("access-token-9", "refresh-token-9", time.Now().Add(time.Hour))), 0o600); err != nil {
				t.Error(err)
			}
		}
		if got := header(t, l); got != "Bearer access-token-9" || s.asked != 1 {
			t.Errorf("%q, asked %d times", got, s.asked)
		}
		time.Sleep(time.Minute)
		if err := os.WriteFile(l.home.(loginFile).path, []byte(claudes("access-token-10", "refresh-token-10", time.Now().Add(time.Hour))), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := header(t, l); got != "Bearer access-token-10" {
			t.Errorf("a new login on the host does not count: %q", got)
		}
	})
}

// TestALoginThatEnded: said in words, without a byte of a token, and not asked for in a storm.
func TestALoginThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []*server{{good: "none"}, {good: "refresh-token-0", status: 403}} {
			l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), s)
			for range 5 {
				_, _, err := l.Header(t.Context())
				if err == nil || !strings.Contains(err.Error(), "/login") || strings.Contains(err.Error(), "token-0") {
					t.Errorf("%v", err)
				}
			}
			if s.asked != 1 {
				t.Errorf("asked %d times", s.asked)
			}
		}
		l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), &server{})
		l.send = func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }
		if _, _, err := l.Header(t.Context()); err == nil || !strings.Contains(err.Error(), "no network") {
			t.Errorf("%v", err)
		}
	})
}

// TestNoTokenIsLost: a refresh token is good once, so nothing is traded that could not be kept, and what could not be written
// after all is not forgotten.
func TestNoTokenIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{good: "refresh-token-0"}
		l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), s)
		link := filepath.Join(filepath.Dir(l.home.(loginFile).path), "link")
		if err := os.Symlink(l.home.(loginFile).path, link); err != nil {
			t.Fatal(err)
		}
		file := l.home.(loginFile).path
		l.home = loginFile{l.of, link} // which a rename would replace
		if _, _, err := l.Header(t.Context()); err == nil || s.asked != 0 {
			t.Errorf("traded %d times before it was known that the file can be replaced: %v", s.asked, err)
		}
		l.home = loginFile{l.of, file}
		time.Sleep(time.Minute)
		dir := filepath.Dir(file)
		s.then = func() { // the directory is exchanged after it was looked at
			if err := errors.Join(os.Rename(dir, dir+"-away"), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Error(err)
			}
		}
		if _, _, err := l.Header(t.Context()); err == nil || s.asked != 1 {
			t.Errorf("asked %d times, %v", s.asked, err)
		}
		s.then = nil
		if err := errors.Join(os.Remove(dir), os.Rename(dir+"-away", dir)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := header(t, l); got != "Bearer access-token-1" || s.asked != 1 {
			t.Errorf("the tokens that could not be written: %q, asked %d times", got, s.asked)
		}
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "refresh-token-1") {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// TestALoginOfCodex: its end is in the token, and its account goes along.
func TestALoginOfCodex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := func(end time.Time) string {
			return "head." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end.Unix())) + ".sign"
		}
		text := func(access string) string {
			return fmt.Sprintf(`{"OPENAI_API_KEY":null,"tokens":{"id_token":"id-0","access_token":%q,"refresh_token":"refresh-token-0","account_id":"acc-1"},"last_refresh":"2026-01-01T00:00:00Z"}`, access)
		}
		s := &server{good: "refresh-token-0"}
		ends := token(time.Now().Add(time.Hour))
		l := loginOf(t, "codex", text(ends), s)
		apply := func() http.Header {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://chatgpt.com/", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Chatgpt-Account-Id", "the child's")
			if err := Apply(t.Context(), l, req, nil); err != nil {
				t.Fatal(err)
			}
			return req.Header
		}
		if h := apply(); h.Get("Authorization") != "Bearer "+ends || h.Get("Chatgpt-Account-Id") != "acc-1" || s.asked != 0 {
			t.Errorf("%v, asked %d times", h, s.asked)
		}
		time.Sleep(time.Hour)
		if h := apply(); h.Get("Authorization") != "Bearer access-token-1" || s.asked != 1 {
			t.Errorf("%v, asked %d times", h, s.asked)
		}
		written, err := os.ReadFile(l.home.(loginFile).path)
		if err != nil || !strings.Contains(string(written), "id-1") || strings.Contains(string(written), "2026-01-01") || !strings.Contains(string(written), "acc-1") {
			t.Errorf("%s, %v", written, err)
		}
	})
}

// TestNoLogin: files that have none.
func TestNoLogin(t *testing.T) {
	for _, text := range []string{
		"", "{}", "[]", `{"claudeAiOauth":null}`, `{"claudeAiOauth":{"accessToken":""}}`, `{"claudeAiOauth":{"accessToken":["secret-x"]}}`,
		`{"claudeAiOauth":{"accessToken":"secret-x\r\nHost: evil"}}`,
	} {
		_, _, err := loginOf(t, "claude", text, &server{}).Header(t.Context())
		if err == nil || strings.Contains(err.Error(), "secret-x") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWhatIsKnownOfALogin: its tokens are scrubbed, the new ones too.
func TestWhatIsKnownOfALogin(t *testing.T) {
	s := &server{good: "refresh-token-0"}
	l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), s)
	header(t, l)
	for _, secret := range []string{"access-token-0", "refresh-token-0", "access-token-1", "refresh-token-1"} {
		if got := l.known.Scrub("x " + secret); strings.Contains(got, "token") {
			t.Errorf("%q", got)
		}
	}
}
