package configs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"torno/sandbox/compile"
	"torno/sandbox/launchers"
)

// TestALocalAgent: its route has its key in the state directory, and is the door of the only profile.
func TestALocalAgent(t *testing.T) {
	emptyEnvironment(t)
	c, _, err := Local(launchers.All, LocalOptions{Dir: "/srv/box", State: "/srv/state", Agent: &LocalAgent{
		Name: "claude", Model: "opus", Command: []string{"/opt/claude/bin/claude"},
		Programs: []compile.Programs{{Host: "/home/me/claude", As: "/opt/claude/bin/claude"}},
		Route: func(keyFile string) map[string]any {
			return map[string]any{"preset": "anthropic", "credential": map[string]any{"file": keyFile}}
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p, r := c.Profiles[0], c.Gateway.Route("claude")
	if p.Agent != "claude" || p.Model != "opus" || p.ModelRoute != "claude" || p.Timeout.Default != 15*time.Minute || len(p.Programs) != 1 || p.Command[0] != p.Programs[0].As {
		t.Errorf("the profile is %+v", p)
	}
	if r == nil || r.Credential.Path != "/srv/state/gateway/claude.key" || c.KeyFile("claude") != r.Credential.Path || len(p.Door.Routes) != 1 {
		t.Errorf("the route is %+v", r)
	}
	if p.Messages || !p.Hears() {
		t.Error("Claude Code takes messages without being told to")
	}
	if text, err := c.Marshal(); err != nil {
		t.Error(err)
	} else if _, _, err := Parse(launchers.All, "written.yaml", text); err != nil {
		t.Errorf("as a file it is\n%s\nand reads: %v", text, err)
	}
}

// TestALocalCodexHears: a parent can talk with the agent of a watcher that has no file, and with those of a first configuration.
func TestALocalCodexHears(t *testing.T) {
	emptyEnvironment(t)
	codex := LocalAgent{Name: "codex", Command: []string{"/opt/codex"}, Route: func(keyFile string) map[string]any {
		return map[string]any{"preset": "openai", "credential": map[string]any{"file": keyFile}}
	}}
	c, _, err := Local(launchers.All, LocalOptions{Dir: "/srv/box", State: "/srv/state", Agent: &codex})
	if err != nil || !c.Profiles[0].Messages || !c.Profiles[0].Hears() {
		t.Errorf("%+v, %v", c.Profiles, err)
	}
	text, _, err := Initial(launchers.All, InitialOptions{Dir: "/srv/box", State: "/srv/state", Agents: []LocalAgent{codex}})
	if err != nil {
		t.Fatal(err)
	}
	c, _, err = Parse(launchers.All, "first.yaml", text)
	if err != nil || !c.Profiles[0].Hears() {
		t.Errorf("%+v, %v\n%s", c.Profiles, err, text)
	}
}

// TestPackages: a word opens routes to a registry, read-only and without a credential, beside the agent's, also in a first configuration.
func TestPackages(t *testing.T) {
	emptyEnvironment(t)
	claude := LocalAgent{Name: "claude", Command: []string{"/opt/claude"}, Route: func(keyFile string) map[string]any {
		return map[string]any{"preset": "anthropic", "credential": map[string]any{"file": keyFile}}
	}}
	packages := []string{"npm", "pypi", "go", "npm"}
	local, _, err := Local(launchers.All, LocalOptions{Dir: "/srv/box", State: "/srv/state", Agent: &claude, Packages: packages})
	if err != nil {
		t.Fatal(err)
	}
	text, first, err := Initial(launchers.All, InitialOptions{Dir: "/srv/box", State: "/srv/state", Agents: []LocalAgent{claude}, Packages: packages})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for what, c := range map[string]Config{"of flags": local, "a first one": first} {
		i := slices.IndexFunc(c.Profiles, func(p compile.Profile) bool { return p.Agent == "claude" })
		var ways []string
		for _, way := range c.Profiles[i].Door.Routes {
			ways = append(ways, way.Name+way.Prefix)
		}
		if got := strings.Join(ways, " "); got != "claude npm/npm pypi/pypi pypi-files/pypi-files goproxy/goproxy" {
			t.Errorf("%s: the agent reaches %s", what, got)
		}
		if npm := c.Gateway.Route("npm"); npm == nil || npm.Upstream.Host != "registry.npmjs.org" || npm.Credential.Path != "" {
			t.Errorf("%s: npm is %+v", what, npm)
		}
	}
	shell, _, err := Local(launchers.All, LocalOptions{Dir: "/srv/box", Packages: []string{"go"}})
	if err != nil || len(shell.Profiles[0].Door.Routes) != 1 {
		t.Errorf("without an agent: %+v, %v", shell.Profiles, err)
	}
	if _, _, err := Local(launchers.All, LocalOptions{Dir: "/srv/box", Packages: []string{"nmp"}}); err == nil || !strings.Contains(err.Error(), "did you mean npm?") {
		t.Errorf("of a word that is none it says %v", err)
	}
}
