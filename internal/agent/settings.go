package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"torno/internal/strictjson"
)

// SettingsKey is the key of a request's yaml_config under which Settings stand.
const SettingsKey = "agent_settings"

// Settings are what a request gives its agent beside the task. They take away and add nothing to a sandbox: an agent with no settings may do
// in it what it likes. The agent itself keeps to them, so they bind an honest one.
type Settings struct {
	SystemPrompt string            `json:"system_prompt,omitempty"`
	Allow        *[]string         `json:"allow,omitempty"` // the only tools that it has; nil for all that it knows
	Deny         []string          `json:"deny,omitempty"`  // stronger than Allow
	Servers      map[string]Server `json:"mcp_servers,omitempty"`
}

// Server is a server of the Model Context Protocol that the agent starts in its sandbox.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// MaxSettings bounds settings as JSON.
const MaxSettings = 1 << 20

const (
	maxRules = 512 // and servers
	maxRule  = 512
)

// DecodeSettings reads settings strictly.
func DecodeSettings(text []byte) (s Settings, err error) {
	if len(text) > MaxSettings {
		return s, fmt.Errorf("they have %d bytes, and at most %d are taken", len(text), MaxSettings)
	}
	if err := strictjson.Decode(text, &s); err != nil {
		return s, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return s, s.check()
}

func (s Settings) check() error {
	rules := s.Deny
	if s.Allow != nil {
		rules = slices.Concat(rules, *s.Allow)
	}
	if len(rules) > maxRules || len(s.Servers) > maxRules {
		return fmt.Errorf("they have more than %d rules or servers", maxRules)
	}
	for _, rule := range rules {
		if !isRule(rule) {
			return fmt.Errorf("%.100q is no rule for tools, such as Read or Bash(git log:*)", rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		if !isWord(name) || s.Servers[name].Command == "" {
			return fmt.Errorf("the server %.100q needs a name of letters, digits, ., _ and -, and a command", name)
		}
	}
	return nil
}

// isRule says whether a text names a tool, and behind it perhaps a pattern in brackets. So it is never an option.
func isRule(rule string) bool {
	tool := ToolOf(rule)
	pattern := rule[len(tool):]
	return len(rule) <= maxRule && utf8.ValidString(rule) && (tool == "*" || isWord(strings.NewReplacer(":", "_", "*", "_").Replace(tool))) &&
		(pattern == "" || strings.HasSuffix(pattern, ")")) && !strings.ContainsFunc(rule, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// ToolOf is the tool of a rule.
func ToolOf(rule string) string {
	tool, _, _ := strings.Cut(rule, "(")
	return tool
}

func isWord(s string) bool {
	for i, c := range []byte(s) {
		plain := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !plain && (i == 0 || strings.IndexByte("._-", c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
