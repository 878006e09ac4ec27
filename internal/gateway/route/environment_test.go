package route

import (
	"maps"
	"testing"
)

func TestEnvironment(t *testing.T) {
	quiet := map[string]string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
	with := func(all map[string]string) map[string]string { maps.Copy(all, quiet); return all }
	aws := map[string]any{"aws": map[string]any{"file": "/etc/aws", "region": "eu-central-1"}}
	for _, test := range []struct {
		said   map[string]any
		prefix string
		want   map[string]string
	}{
		{map[string]any{"preset": "anthropic"}, "", with(map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:4180", "ANTHROPIC_API_KEY": NoKey})},
		{map[string]any{"preset": "claude-login"}, "/c", with(map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:4180/c", "ANTHROPIC_API_KEY": NoKey})},
		{map[string]any{"preset": "openai"}, "", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:4180/v1", "OPENAI_API_KEY": NoKey, "CODEX_API_KEY": NoKey}},
		{map[string]any{"preset": "ollama"}, "/o", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:4180/o/v1", "OPENAI_API_KEY": NoKey, "CODEX_API_KEY": NoKey}},
		{map[string]any{"preset": "google"}, "", map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:4180", "GEMINI_API_KEY": NoKey}},
		{map[string]any{"preset": "bedrock", "credential": aws}, "", with(map[string]string{
			"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1", "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:4180", "AWS_REGION": "eu-central-1",
		})},
		{map[string]any{"preset": "npm"}, "/npm", map[string]string{"npm_config_registry": "http://127.0.0.1:4180/npm/"}},
		{map[string]any{"preset": "pypi"}, "/pypi", map[string]string{"PIP_INDEX_URL": "http://127.0.0.1:4180/pypi/simple/", "UV_INDEX_URL": "http://127.0.0.1:4180/pypi/simple/"}},
		{map[string]any{"preset": "goproxy"}, "/go", map[string]string{"GOPROXY": "http://127.0.0.1:4180/go"}},
		{map[string]any{"preset": "git"}, "/git", nil},
		{map[string]any{"api": "plain", "upstream": "https://example.com", "allow": []any{"GET /a"}}, "/a", nil},
	} {
		r, err := Parse("a", test.said)
		if err != nil {
			t.Fatal(err)
		}
		if got := Environment(4180, []Way{{r, test.prefix}}); !maps.Equal(got, test.want) {
			t.Errorf("%v: got %v, want %v", test.said, got, test.want)
		}
	}
}

// TestFirstWay: Claude Code goes to one place, and half of the variables of another one would send it nowhere.
func TestFirstWay(t *testing.T) {
	var ways []Way
	for _, preset := range []string{"anthropic", "bedrock", "npm"} {
		r, err := Parse(preset, map[string]any{"preset": preset})
		if err != nil {
			t.Fatal(err)
		}
		ways = append(ways, Way{r, "/" + preset})
	}
	got := Environment(4180, ways)
	if got["ANTHROPIC_BASE_URL"] != "http://127.0.0.1:4180/anthropic" || got["CLAUDE_CODE_USE_BEDROCK"] != "" || got["npm_config_registry"] == "" {
		t.Errorf("got %v", got)
	}
}
