package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"torno/internal/gateway/dial"
	"torno/internal/gateway/route"
)

// hide is a gateway's Scrub.
func hide(text string) string { return strings.ReplaceAll(text, secret, "***") }

// fails is a transport that sends nothing.
type fails struct{ error }

func (f fails) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

// lockedAway is a credential that is not there.
type lockedAway struct{ key }

func (*lockedAway) Header(context.Context) (name, value string, err error) {
	return "", "", errors.New("open /etc/torno/key: no such file")
}

// toward has an upstream lead to another place.
func (r *rig) toward(u *Upstream, to string, rule dial.Rule) *Upstream {
	r.Helper()
	at, err := url.Parse(to)
	if err != nil {
		r.Fatal(err)
	}
	rule.Host, rule.Plain = at.Host, at.Scheme == "http"
	transport, err := rule.Transport()
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(transport.CloseIdleConnections)
	said := *u.Route
	said.Upstream = at
	return &Upstream{Route: &said, Transport: transport, Credential: u.Credential}
}

// TestTriedInWords: what is wrong with a route is said, by kind and in words, and a credential is in no word.
func TestTriedInWords(t *testing.T) {
	r := newRig(t)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) }))
	defer busy.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler("http://example.com/", http.StatusFound))
	defer elsewhere.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	plain := func() *Upstream { return r.upstream("claude", "anthropic") }
	names := func(u *Upstream, models ...route.Model) *Upstream { u.Route.Models = models; return u }
	with := func(f func(u *Upstream)) *Upstream { u := plain(); f(u); return u }
	for _, test := range []struct {
		name  string
		u     *Upstream
		model string
		wrong Wrong
		says  string
	}{
		{"all is well", plain(), "", "", "the upstream answers"},
		{"as OpenAI speaks", r.upstream("chat", "compatible"), "stand-in", "", "and knows stand-in"},
		{"a model that it lists", plain(), "stand-in", "", "and knows stand-in"},
		{"a model that it does not know", plain(), "gone", WrongModel, `does not know the model "gone"`},
		{"a part of a name", plain(), "stand", WrongModel, `does not know the model "stand"`},
		{"a model of the route", names(plain(), route.Model{Name: "any*"}, route.Model{Name: "mine", Upstream: "gone"}), "", WrongModel, `"gone"`},
		{"a renamed model of the route", names(plain(), route.Model{Name: "mine", Upstream: "stand-in"}), "", "", "and knows stand-in"},
		{"its name", with(func(u *Upstream) { u.Transport = fails{&net.DNSError{Err: "no such host", Name: "api.example"}} }), "", WrongName, "its name cannot be resolved"},
		{"a metadata service", r.toward(plain(), "http://169.254.169.254", dial.Rule{Private: true}), "", WrongAddress, "not dialled"},
		{"nobody's certificate", r.toward(plain(), secure.URL, dial.Rule{Private: true}), "", WrongTLS, "its certificate is not accepted"},
		{"no TLS there", r.toward(plain(), strings.Replace(r.url, "http:", "https:", 1), dial.Rule{Private: true}), "", WrongTLS, "TLS"},
		{"nothing there", r.toward(plain(), gone.URL, dial.Rule{Private: true}), "", WrongUpstream, "it refuses connections"},
		{"a redirect", r.toward(plain(), elsewhere.URL, dial.Rule{Private: true}), "", WrongUpstream, "redirect"},
		{"too many ask", r.toward(plain(), busy.URL, dial.Rule{Private: true}), "", WrongBusy, "cannot answer now (529)"},
		{"no such list", r.toward(plain(), r.url+"/other", dial.Rule{Private: true}), "gone", "", "it has no such list (404)"},
		{"no credential", with(func(u *Upstream) { u.Credential = &lockedAway{} }), "", WrongCredential, "the credential is not available"},
	} {
		tried := test.u.Try(t.Context(), test.model, hide)
		if tried.Wrong != test.wrong || !strings.Contains(tried.Text, test.says) || tried.Route != test.u.Route.Name {
			t.Errorf("%s: %+v", test.name, tried)
		}
	}
	r.up.Rotate("sk-other")
	tried := plain().Try(t.Context(), "", hide)
	if tried.Wrong != WrongCredential || !strings.Contains(tried.Text, "provided: ***") || strings.Contains(tried.Text, secret) {
		t.Errorf("a credential that is refused: %+v", tried)
	}
	if r.key.refused != 1 {
		t.Errorf("the credential heard of %d refusals", r.key.refused)
	}
	for _, seen := range r.up.Seen() {
		if seen.Method != http.MethodGet || len(seen.Body) > 0 {
			t.Errorf("it costs something: %+v", seen)
		}
	}
}

// TestATriedTextIsBounded: the secret is taken out before the text is cut, for its beginning alone would not be known.
func TestATriedTextIsBounded(t *testing.T) {
	long := strings.Repeat("a", maxShown-len(secret)/2) + secret
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, long+"\nmore")
	}))
	defer up.Close()
	r := bare(t, up.URL)
	tried := r.upstream("claude", "anthropic").Try(t.Context(), "", hide)
	if tried.Wrong != WrongCredential || strings.Contains(tried.Text, secret[:3]) || len(tried.Text) > maxShown+100 {
		t.Errorf("%+v", tried)
	}
}

func TestTryOfNoRoute(t *testing.T) {
	if _, err := newRig(t).g.Try(t.Context(), "gone", ""); !errors.Is(err, ErrNoRoute) {
		t.Error(err)
	}
}
