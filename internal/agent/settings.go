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

// SettingsKey is the key in a request's yaml_config that holds Settings.
const SettingsKey = "agent_settings"

// Settings come to the agent with its request, beside the task. They can only take something away: an agent without
// settings may do in its sandbox whatever it likes. The agent itself enforces them, so they bind only an honest agent.
type Settings struct {
	SystemPrompt string            `json:"system_prompt,omitempty"`
	Allow        *[]string         `json:"allow,omitempty"` // the only tools that it has; nil for all that it knows
	Deny         []string          `json:"deny,omitempty"`  // stronger than Allow
	Servers      map[string]Server `json:"mcp_servers,omitempty"`
}

// Server is an MCP server (Model Context Protocol) that the agent starts in its sandbox.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// MaxSettings bounds the settings as JSON, in bytes.
const MaxSettings = 1 << 20

const (
	maxRules = 512 // rules, and as many servers
	maxRule  = 512
)

// DecodeSettings reads settings strictly.
func DecodeSettings(text []byte) (s Settings, err error) {
	if len(text) > MaxSettings {
		return s, fmt.Errorf("they have %d bytes; at most %d are allowed", len(text), MaxSettings)
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
		if !IsRule(rule) {
			return fmt.Errorf("%.100q is not a rule for tools, such as Read or Bash(git log:*)", rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		if !isWord(name) || s.Servers[name].Command == "" {
			return fmt.Errorf("the server %.100q needs a name of letters, digits, ., _ and -, and a command", name)
		}
	}
	return nil
}

// IsRule reports whether a text names a tool, perhaps followed by a pattern in brackets. Such a text never looks like a
// command-line option.
func IsRule(rule string) bool {
	tool := ToolOf(rule)
	pattern := rule[len(tool):]
	return len(rule) <= maxRule && utf8.ValidString(rule) && (tool == "*" || isWord(strings.NewReplacer(":", "_", "*", "_").Replace(tool))) &&
		(pattern == "" || strings.HasSuffix(pattern, ")")) && !strings.ContainsFunc(rule, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// ToolOf returns the tool of a rule: the text before the bracket.
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
