package compile_test

import (
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/sandbox/compile"
)

// TestSettingsAreAFileOfTheHosts, which the adapter is told of, and their texts are no part of its arguments.
func TestSettingsAreAFileOfTheHosts(t *testing.T) {
	req := request(t, "hello")
	policy := bounded("claude")
	policy.Profiles[0].Agent = "claude"
	req.YAMLConfig = map[string]any{agent.SettingsKey: map[string]any{"system_prompt": "--help", "deny": []any{"Bash(rm:*)"}}}
	spec, _, err := compile.Compile(req, policy)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(spec.Process.Argv, "--settings")
	if at < 0 || spec.Process.Argv[at+1] != "/run/torno/run/settings.json" || slices.Index(spec.Process.Argv, "--") < at {
		t.Errorf("its arguments are %q", spec.Process.Argv)
	}
	for _, f := range spec.Files {
		if f.Name == "settings.json" && strings.Contains(string(f.Content), `"Bash(rm:*)"`) {
			return
		}
	}
	t.Errorf("its files are %+v", spec.Files)
}

// TestNobodyIsAskedAboutAServer, so a request gives none to an agent that asks.
func TestNobodyIsAskedAboutAServer(t *testing.T) {
	req := request(t, "hello")
	policy := bounded("claude")
	policy.Profiles[0].Agent, policy.Profiles[0].Approvals = "claude", &approval.Policy{}
	req.YAMLConfig = map[string]any{agent.SettingsKey: map[string]any{"mcp_servers": map[string]any{"x": map[string]any{"command": "/bin/sh"}}}}
	if refusal := refusalOf(t, req, policy); refusal.Code != delegation.CodeInvalid || refusal.Field != "yaml_config.agent_settings.mcp_servers" {
		t.Errorf("%+v", refusal)
	}
}

// TestNoSettingsAreLeftOut: an agent is not run with less than its parent has asked for.
func TestNoSettingsAreLeftOut(t *testing.T) {
	for _, test := range []struct {
		agent    string
		settings any
		text     string
	}{
		{"", map[string]any{}, "has no agent that takes settings"},
		{"codex", map[string]any{}, "has no agent that takes settings"},
		{"claude", map[string]any{"hooks": map[string]any{}}, `unknown field "hooks"`},
		{"claude", map[string]any{"deny": []any{"--dangerously-skip-permissions"}}, "is not a rule for tools"},
		{"claude", map[string]any{"allow": []any{"Bash(a)\nWrite"}}, "is not a rule for tools"},
		{"claude", map[string]any{"deny": "Bash"}, "cannot unmarshal"},
		{"claude", map[string]any{"mcp_servers": map[string]any{"../x": map[string]any{"command": "y"}}}, "needs a name of letters"},
		{"claude", map[string]any{"mcp_servers": map[string]any{"x": map[string]any{}}}, "and a command"},
		{"claude", map[string]any{"system_prompt": strings.Repeat("x", agent.MaxSettings)}, "at most 1048576 are allowed"},
	} {
		req := request(t, "hello")
		policy := bounded("claude")
		policy.Profiles[0].Agent = test.agent
		req.YAMLConfig = map[string]any{agent.SettingsKey: test.settings}
		refusal := refusalOf(t, req, policy)
		if refusal.Code != delegation.CodeInvalid || refusal.Field != "yaml_config.agent_settings" || !strings.Contains(refusal.Text, test.text) {
			t.Errorf("%s, %.80v: %+v", test.agent, test.settings, refusal)
		}
	}
}
