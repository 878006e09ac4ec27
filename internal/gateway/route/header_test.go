package route

import (
	"net/http"
	"strings"
	"testing"
)

// TestNothingOfTheClientIdentifies: credentials, cookies, hops and payers are dropped, whatever their spelling, and also where
// a configuration would pass on everything.
func TestNothingOfTheClientIdentifies(t *testing.T) {
	r := ofPreset(t, "anthropic", "headers", []any{"x-*", "a*", "c*", "p*", "o*", "h*"})
	q := post("/v1/messages", `{"model":"m"}`)
	for _, name := range append([]string{"authorization", "COOKIE", "x-api-key", "X-aPi-KeY"}, never...) {
		q.Header[name] = []string{"dummy"}
	}
	e, err := r.Decide(q)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range e.Header {
		if strings.Join(values, "") == "dummy" {
			t.Errorf("%s leaves", name)
		}
	}
	if e.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("the answer may be packed: %v", e.Header)
	}
	q.Header.Set("X-Mine", "dummy")
	if e, err = r.Decide(q); err != nil || e.Header.Get("X-Mine") != "dummy" {
		t.Errorf("what the operator named is dropped: %v, %v", e.Header, err)
	}
	r = ofPreset(t, "anthropic", "header", "x-mine", "headers", []any{"x-*"}, "set", map[string]any{"x-mine": "ours"})
	if e, err = r.Decide(q); err != nil || e.Header.Get("X-Mine") != "" {
		t.Errorf("the credential's header is there before the credential: %v, %v", e.Header, err)
	}
}

// TestUnknownNamesAreDropped, and those of the API are passed on.
func TestUnknownNamesAreDropped(t *testing.T) {
	q := post("/v1/messages?beta=true", `{"model":"m"}`)
	q.Header = http.Header{
		"Content-Type": {`application/json; charset="UTF-8"`}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"claude-code-20250219,b", "effort-2025-11-24"},
		"X-Claude-Code-Session-Id": {"s"}, "User-Agent": {"claude-cli/2"}, "Openai-Organization": {"o"}, "X-Unknown": {"x"}, "Accept": {"*/*"},
	}
	e, err := ofPreset(t, "claude-login").Decide(q)
	if err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"claude-code-20250219,effort-2025-11-24,oauth-2025-04-20"},
		"X-Claude-Code-Session-Id": {"s"}, "User-Agent": {"claude-cli/2"}, "Accept": {"*/*"}, "Accept-Encoding": {"identity"},
	}
	if len(e.Header) != len(want) {
		t.Errorf("%v", e.Header)
	}
	for name := range want {
		if e.Header.Get(name) != want.Get(name) {
			t.Errorf("%s: %q", name, e.Header.Get(name))
		}
	}
}

// TestBadHeaders are refused.
func TestBadHeaders(t *testing.T) {
	for name, header := range map[string]http.Header{
		"twice":               {"Content-Type": {"application/json", "text/plain"}},
		"twice, another case": {"content-type": {"application/json"}, "Content-Type": {"application/json"}},
		"a line":              {"Content-Type": {"application/json"}, "User-Agent": {"a\r\nX-Api-Key: b"}},
		"a NUL":               {"Content-Type": {"application/json"}, "User-Agent": {"a\x00"}},
		"not ASCII":           {"Content-Type": {"application/json"}, "User-Agent": {"\xff"}},
		"long":                {"Content-Type": {"application/json"}, "User-Agent": {strings.Repeat("a", 1<<20)}},
		"packed":              {"Content-Type": {"application/json"}, "Content-Encoding": {"zstd"}},
		"packed, small name":  {"Content-Type": {"application/json"}, "content-encoding": {"gzip"}},
		"packed twice":        {"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "gzip"}},
		"another kind":        {"Content-Type": {"multipart/form-data; boundary=x"}},
		"no kind":             {},
		"another charset":     {"Content-Type": {"application/json; charset=utf-16"}},
	} {
		q := post("/v1/messages", `{"model":"m"}`)
		q.Header = header
		if e, err := ofPreset(t, "anthropic").Decide(q); err == nil {
			t.Errorf("%s passes: %v", name, e.Header)
		}
	}
}

// TestTheOperatorsQueryCounts: an upstream's own parameters go along, and a client cannot say others.
func TestTheOperatorsQueryCounts(t *testing.T) {
	r := parsed(t, map[string]any{
		"preset": "compatible", "upstream": "https://x.example/openai?api-version=1", "allow": []any{"POST /chat/completions?api-version"},
	})
	e, err := r.Decide(post("/v1/chat/completions?api-version=evil&access_token=x", `{"model":"m"}`))
	if err != nil || e.URL.String() != "https://x.example/openai/chat/completions?api-version=1" {
		t.Errorf("%v, %v", e.URL, err)
	}
}
