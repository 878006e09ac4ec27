package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`
routes:
  claude:
    preset: anthropic
    models: {opus: claude-opus-5-5}
    credential: {file: /etc/torno/anthropic.key}
  npm: {preset: npm}
prices:
  claude:
    claude-opus-*: {input: 5, output: 25, cache_read: 0.5}
`))
	if err != nil || len(s.Routes) != 2 || s.Routes[0].Name != "claude" || s.Prices["claude"]["claude-opus-*"].Input == 0 {
		t.Fatalf("got %+v, %v", s, err)
	}
}

// TestRefused: what is not understood is no configuration, and the error says where and what is near.
func TestRefused(t *testing.T) {
	for text, says := range map[string]string{
		"route: {}":                                  "did you mean routes?",
		"routes: [a]":                                "routes",
		"routes: {a: {preset: anthropik}}":           `did you mean "anthropic"?`,
		"routes: {a: {preset: ollama, x: 1}":         "",
		"prices: {gone: {m: {input: 1, output: 1}}}": `no route "gone"`,
		"routes: {}\nroutes: {}":                     "already defined",
		"routes: &a {b: *a}":                         "anchor",
		"routes: {a: &b {preset: ollama}, c: *b}":    "anchors and aliases",
		"routes: {}\n---\nroutes: {}":                "second document",
		"routes: {a: {preset: ollama}}\nprices: {a: {m: {inptu: 1, output: 1}}}":                       "input",
		"routes: {a: {preset: compatible, upstream: http://example.com, credential: {file: /a}}}":      "http",
		"routes: {a: {preset: anthropic, header: 1, credential: {file: /a, command: [/bin/echo, a]}}}": "header",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLoad(t *testing.T) {
	if s, err := Load(""); err != nil || len(s.Routes) != 0 {
		t.Errorf("no file: %+v, %v", s, err)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{big, filepath.Join(t.TempDir(), "gone.yaml"), "/"} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s was loaded", path)
		}
	}
}
