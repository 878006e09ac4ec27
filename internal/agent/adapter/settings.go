package adapter

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"torno/internal/agent"
)

// given holds the arguments that settings add to an agent's, and the one argument that they remove.
type given struct {
	flags   []string
	without string
}

func (g given) add(args []string) []string {
	if g.without != "" {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == g.without })
	}
	return append(args, g.flags...)
}

// put writes a file for the agent and returns its path.
type put func(name string, content []byte) (string, error)

// claudeSettings makes Claude Code keep to settings. The workspace's own settings do not count beside them, because an
// earlier run of the child may have written them. An agent that asks before it uses a tool goes on asking: it has the
// allowed tools, but asks before it uses one.
func claudeSettings(s agent.Settings, asks bool, put put) (g given, err error) {
	g.flags = append(g.flags, "--strict-mcp-config")
	rules := claudeRules{Deny: s.Deny}
	if s.Allow != nil && !slices.Contains(*s.Allow, "*") {
		g.flags = append(g.flags, "--tools="+strings.Join(builtIn(*s.Allow), ","))
		rules.Allow = *s.Allow
	}
	if asks {
		rules.Allow = nil
	} else {
		g.flags = append(g.flags, "--setting-sources=user")
		if rules.Allow != nil {
			g.without = skipPermissions
		}
	}
	files := []struct {
		flag, name string
		wanted     bool
		content    any
	}{
		{"--settings=", "settings.json", len(rules.Allow)+len(rules.Deny) > 0, map[string]any{"permissions": rules}},
		{"--mcp-config=", "servers.json", len(s.Servers) > 0, map[string]any{"mcpServers": s.Servers}},
	}
	for _, f := range files {
		if !f.wanted {
			continue
		}
		text, failed := json.Marshal(f.content)
		path, wrong := put(f.name, text)
		g.flags = append(g.flags, f.flag+path)
		err = errors.Join(err, failed, wrong)
	}
	if s.SystemPrompt != "" {
		path, wrong := put("system.md", []byte(valid(s.SystemPrompt)))
		g.flags = append(g.flags, "--system-prompt-file="+path)
		err = errors.Join(err, wrong)
	}
	return g, err
}

type claudeRules struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// builtIn returns the tools that rules name, without the tools of MCP servers. Those have no place in the list of
// Claude Code's own tools.
func builtIn(rules []string) []string {
	tools := map[string]bool{}
	for _, rule := range rules {
		if tool := agent.ToolOf(rule); !strings.HasPrefix(tool, "mcp__") {
			tools[tool] = true
		}
	}
	return slices.Sorted(maps.Keys(tools))
}
