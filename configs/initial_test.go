package configs

import (
	"reflect"
	"strings"
	"testing"

	"torno/sandbox/compile"
	"torno/sandbox/launchers"
)

// TestAFirstConfigurationIsWhatWasFound: also where a path has characters that mean something in YAML.
func TestAFirstConfigurationIsWhatWasFound(t *testing.T) {
	environment := map[string]string{"HOME": "/home/u"}
	odd := compile.Programs{Host: "/opt/a: b #c/{claude}", As: "/opt/claude/bin/claude"}
	text, c, err := initialOn(host{func(name string) string { return environment[name] }, 2}, launchers.All, InitialOptions{
		Dir: "/srv/- box", Agents: []LocalAgent{{
			Name: "claude", Command: []string{odd.As}, Programs: []compile.Programs{odd},
			Route: func(key string) map[string]any {
				return map[string]any{"preset": "anthropic", "credential": map[string]any{"file": key}}
			},
		}},
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !strings.HasPrefix(c.State, "/home/u/.local/state/torno/") || c.Outboxes[0].Dir != "/srv/- box" || !reflect.DeepEqual(c.Outboxes[0].Profiles, []string{"claude", "shell"}) {
		t.Errorf("%+v", c.Outboxes)
	}
	for _, p := range c.Profiles {
		if p.Name == "claude" && (!reflect.DeepEqual(p.Programs, []compile.Programs{odd}) || p.Agent != "claude") {
			t.Errorf("%+v", p)
		}
	}
	if files, _ := c.Gateway.Credentials(); !reflect.DeepEqual(files, []string{c.KeyFile("claude")}) {
		t.Errorf("the gateway reads %v", files)
	}
	if _, _, err := initialOn(host{func(string) string { return "" }, 2}, launchers.All, InitialOptions{Dir: "/srv/box"}); err == nil || !strings.Contains(err.Error(), "--state") {
		t.Error(err)
	}
}
