package route

import (
	"strings"
	"testing"
	"time"
)

// TestWhatAnOperatorMistypes: the error names the key and the nearest right word.
func TestWhatAnOperatorMistypes(t *testing.T) {
	for _, test := range []struct {
		said map[string]any
		want string
	}{
		{map[string]any{}, "r.allow: is missing or empty"},
		{map[string]any{}, "r.api: is missing; known are anthropic"},
		{map[string]any{}, "r.upstream: is missing"},
		{map[string]any{"preset": "antropic"}, `r.preset: there is no "antropic"; did you mean "anthropic"?`},
		{map[string]any{"preset": "anthropic", "modles": []any{"m"}}, `r.modles: no route has this; did you mean "models"?`},
		{map[string]any{"preset": "anthropic", "api": "openai"}, `r.api: there is no "openai"`},
		{map[string]any{"preset": "anthropic", "upstream": "http://api.anthropic.com"}, "http_to: api.anthropic.com if you mean that"},
		{map[string]any{"preset": "anthropic", "upstream": "http://a.example", "http_to": "b.example"}, "r.upstream: http sends"},
		{map[string]any{"preset": "ollama", "upstream": "http://other:11434/v1"}, "r.upstream: http sends"},
		{map[string]any{"preset": "anthropic", "upstream": "https://me:key@a.example"}, "r.upstream:"},
		{map[string]any{"preset": "anthropic", "upstream": "https://a.example/../x"}, "r.upstream:"},
		{map[string]any{"preset": "anthropic", "upstream": "ftp://a.example"}, "is not https"},
		{map[string]any{"preset": "anthropic", "upstream": 5}, "r.upstream: is not a text"},
		{map[string]any{"preset": "anthropic", "allow": "GET /"}, "r.allow: is not a list"},
		{map[string]any{"preset": "anthropic", "allow": []any{}}, "r.allow: is missing or empty"},
		{map[string]any{"preset": "anthropic", "allow": []any{"/v1"}}, "r.allow[0]: \"/v1\" has no method"},
		{map[string]any{"preset": "anthropic", "allow": []any{"get /v1"}}, `"get" is not a method`},
		{map[string]any{"preset": "anthropic", "allow": []any{"GET /a/../b"}}, "r.allow[0]"},
		{map[string]any{"preset": "anthropic", "allow": []any{"GET /**/**"}}, "more than one **"},
		{map[string]any{"preset": "anthropic", "allow": []any{"GET /a*b*"}}, "at most one of"},
		{map[string]any{"preset": "anthropic", "allow": []any{"GET /{modle}"}}, "at most one of"},
		{map[string]any{"preset": "anthropic", "models": []any{}}, "r.models: is empty"},
		{map[string]any{"preset": "anthropic", "models": []any{"a b"}}, "is not the name of a model"},
		{map[string]any{"preset": "anthropic", "models": map[string]any{"a": 5}}, "r.models.a: is not"},
		{map[string]any{"preset": "anthropic", "headers": []any{"Cookie"}}, "r.headers[0]: Cookie is never passed on"},
		{map[string]any{"preset": "anthropic", "set": map[string]any{"authorization": "x"}}, `a credential goes under "credential"`},
		{map[string]any{"preset": "anthropic", "set": map[string]any{"x": "a\nb"}}, "r.set.x: is not the value"},
		{map[string]any{"preset": "anthropic", "credential": map[string]any{"fiel": "/x"}}, `there is no "fiel"; did you mean "file"?`},
		{map[string]any{"preset": "anthropic", "credential": map[string]any{"file": "x"}}, "r.credential.file: is not an absolute path"},
		{map[string]any{"preset": "anthropic", "credential": map[string]any{"file": "/x", "command": []any{"/y"}}}, "must name exactly one place"},
		{map[string]any{"preset": "anthropic", "credential": map[string]any{"command": []any{"op"}}}, "absolute path"},
		{map[string]any{"preset": "anthropic", "credential": map[string]any{"systemd": "../x"}}, "r.credential.systemd"},
		{map[string]any{"preset": "anthropic", "credential": "sk-key"}, "r.credential: must name exactly one place"},
		{map[string]any{"preset": "bedrock", "credential": map[string]any{"aws": map[string]any{"file": "/x"}}}, "needs a region"},
		{map[string]any{"preset": "anthropic", "header": "", "credential": map[string]any{"file": "/x"}}, "r.header: is missing"},
		{map[string]any{"preset": "anthropic", "max_body": "32 elephants"}, "r.max_body: is not a size"},
		{map[string]any{"preset": "anthropic", "max_body": 0}, "r.max_body: is not a size"},
		{map[string]any{"preset": "anthropic", "silence": "5"}, "r.silence: is not a duration"},
		{map[string]any{"preset": "anthropic", "private": "yes"}, "r.private: is neither true nor false"},
		{map[string]any{"preset": "anthropic", "pins": []any{"abc"}}, "r.pins[0]: is not a sha256"},
		{map[string]any{"preset": "anthropic", "roots": "ca.pem"}, "r.roots:"},
		{map[string]any{"preset": "anthropic", "prefix": "v1"}, "r.prefix:"},
		{map[string]any{"preset": "anthropic", "ask_usage": true}, "r.ask_usage:"},
	} {
		_, err := Parse("r", test.said)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v\nwant %s", test.said, err, test.want)
		}
	}
}

// TestNoSecretIsInAnError: an operator that writes the key where its place belongs sees no part of it again.
func TestNoSecretIsInAnError(t *testing.T) {
	for _, said := range []any{"sk-secret", map[string]any{"file": "sk-secret"}, map[string]any{"command": "sk-secret"}, []any{"sk-secret"}} {
		_, err := Parse("r", map[string]any{"preset": "anthropic", "credential": said})
		if err == nil || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%v: %v", said, err)
		}
	}
}

// TestParse: what an operator writes is what a route has, and what is not said has its default.
func TestParse(t *testing.T) {
	all, err := ParseAll(map[string]any{
		"b": map[string]any{
			"preset": "compatible", "upstream": "https://a.example/v1", "max_body": "2MiB", "silence": "90s", "private": true,
			"credential": map[string]any{"command": []any{"/usr/bin/op", "read"}}, "models": []any{"m"}, "reach": []any{"urls"},
		},
		"a": map[string]any{"preset": "anthropic", "credential": map[string]any{"file": "/key"}},
	})
	if err != nil || len(all) != 2 || all[0].Name != "a" {
		t.Fatalf("%v, %v", all, err)
	}
	a, b := all[0], all[1]
	if a.MaxBody != defaultMaxBody || a.Silence != defaultSilence || a.Private || a.Credential.Header != "x-api-key" || a.Credential.Path != "/key" {
		t.Errorf("%+v", a)
	}
	if b.MaxBody != 2<<20 || b.Silence != 90*time.Second || !b.Private || b.Credential.Prefix != "Bearer " || len(b.Credential.Command) != 2 || !b.AskUsage {
		t.Errorf("%+v", b)
	}
	_, err = ParseAll(map[string]any{"a": 1, "b": map[string]any{"preset": "x"}, "c": map[string]any{"preset": "anthropic"}})
	if err == nil || !strings.Contains(err.Error(), "a: is not") || !strings.Contains(err.Error(), "b.preset") {
		t.Errorf("%v", err)
	}
}

// TestPresetsAreComplete: each but "compatible" needs nothing more.
func TestPresetsAreComplete(t *testing.T) {
	for _, name := range presetNames() {
		_, err := Parse(name, map[string]any{"preset": name})
		if complete := err == nil; complete != (name != "compatible") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := Parse("b", map[string]any{"preset": "bedrock", "credential": map[string]any{"aws": map[string]any{"systemd": "aws", "region": "eu-west-3"}}})
	if err != nil || r.Upstream.Host != "bedrock-runtime.eu-west-3.amazonaws.com" {
		t.Errorf("%v, %v", r, err)
	}
}
