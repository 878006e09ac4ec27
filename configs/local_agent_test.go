package configs

import (
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
	if text, err := c.Marshal(); err != nil {
		t.Error(err)
	} else if _, _, err := Parse(launchers.All, "written.yaml", text); err != nil {
		t.Errorf("as a file it is\n%s\nand reads: %v", text, err)
	}
}
