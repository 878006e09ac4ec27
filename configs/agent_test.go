package configs

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/sandbox/launchers"
)

// TestAnAgentsModel: its route is opened, without being named twice, and what is written reads the same.
func TestAnAgentsModel(t *testing.T) {
	emptyEnvironment(t)
	for said, want := range map[string]struct {
		route, model string
		routes       []sandbox.Route
	}{
		"model: claude":                                       {"claude", "", []sandbox.Route{{Name: "claude"}}},
		"model: claude/claude-opus-5-5":                       {"claude", "claude-opus-5-5", []sandbox.Route{{Name: "claude"}}},
		"model: claude/claude/opus":                           {"claude", "claude/opus", []sandbox.Route{{Name: "claude"}}},
		"model: opus, routes: [claude]":                       {"", "opus", []sandbox.Route{{Name: "claude"}}},
		"routes: [claude]":                                    {"", "", []sandbox.Route{{Name: "claude"}}},
		"model: claude, routes: [claude]":                     {"claude", "", []sandbox.Route{{Name: "claude"}}},
		"model: claude, routes: [{route: npm, prefix: /npm}]": {"claude", "", []sandbox.Route{{Name: "claude"}, {Name: "npm", Prefix: "/npm"}}},
	} {
		t.Run(said, func(t *testing.T) {
			text := fmt.Sprintf("version: 1\nstate: /s\ngateway: {routes: {claude: {preset: anthropic, credential: {file: /k}}, npm: {preset: npm}}}\n"+
				"profiles: {p: {agent: claude, %s}}\noutboxes: {main: {dir: /b, allow: [/b/w]}}\n", said)
			c, _, err := Parse(launchers.All, "c.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p := c.Profiles[0]
			if p.Agent != "claude" || p.ModelRoute != want.route || p.Model != want.model || !reflect.DeepEqual(p.Door.Routes, want.routes) {
				t.Errorf("the model is %q by %q, the routes are %+v", p.Model, p.ModelRoute, p.Door.Routes)
			}
			if p.Env["ANTHROPIC_BASE_URL"] == "" {
				t.Errorf("its environment is %v", p.Env)
			}
			written, err := c.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if again, _, err := Parse(launchers.All, "c.yaml", written); err != nil || !reflect.DeepEqual(again, c) {
				t.Errorf("it writes\n%s\nand reads %v\n%+v", written, err, again)
			}
		})
	}
}

// TestAMassGenAsksNobody, and wants a route that speaks as OpenAI's chat does.
func TestAMassGenAsksNobody(t *testing.T) {
	emptyEnvironment(t)
	for profile, says := range map[string]string{
		"{agent: massgen, model: chat, approvals: {}}": "massgen cannot ask before it calls a tool",
		"{agent: massgen, model: other}":               "massgen reaches no model; write model: chat",
		"{agent: massgen, model: chat/gpt-5}":          "",
	} {
		_, _, err := Parse(launchers.All, "c.yaml", []byte("version: 1\nstate: /srv/state\ngateway:\n  routes:\n    chat: {preset: openai-chat, credential: {file: /k}}\n    other: {preset: openai, credential: {file: /k}}\n"+
			"profiles:\n  m: "+profile+"\noutboxes:\n  main: {dir: /srv/box, allow: [/srv/box/workspaces]}\n"))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", profile, err)
		}
	}
}
