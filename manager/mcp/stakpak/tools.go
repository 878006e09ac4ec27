package stakpak

import (
	"slices"
	"strings"

	"torno/delegation"
	"torno/internal/agent"
	"torno/manager/mcp"
)

// replaced maps a tool of Stakpak to the tools of Claude Code that do the same work.
var replaced = map[string][]string{
	"view":             {"Read", "Glob", "Grep"},
	"create":           {"Write"},
	"str_replace":      {"Edit"},
	"insert":           {"Edit"},
	"run_command":      {"Bash"},
	"run_command_task": {"Bash"},
}

// maxTools bounds the tools of a call, which are remembered for a resume.
const maxTools = 64

// toolset holds the tools of a task.
type toolset struct {
	rules   *[]string // the only tools that its agent gets; nil: the host's profile decides
	lacking []string  // tools of the call that its agent does not have
}

// toolsFor chooses the tools of a task; * means all that the profile gives. A name with a capital letter, and a rule such as Bash(git log:*), is Claude
// Code's own and stays as it is.
func toolsFor(offer delegation.ProfileOffer, features, tools []string) (set toolset) {
	known := agent.Find(offer.Agent)
	if known == nil || !known.Takes || !slices.Contains(features, delegation.FeatureSettings) || slices.Contains(tools, "*") {
		return toolset{}
	}
	rules := []string{}
	for _, tool := range tools {
		own := []string{tool}
		if !isClaudes(tool) {
			own = replaced[withoutServer(tool)]
		}
		if own == nil {
			set.lacking = append(set.lacking, tool)
		}
		rules = append(rules, own...)
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	set.rules = &rules
	return set
}

func isClaudes(tool string) bool {
	return tool != "" && tool[0] >= 'A' && tool[0] <= 'Z' && agent.IsRule(tool)
}

// withoutServer returns the name of a tool without the name of its server: view for stakpak__view.
func withoutServer(tool string) string {
	if _, name, there := strings.Cut(tool, "__"); there {
		return name
	}
	return tool
}

// isEmpty reports whether the agent would have no tool at all.
func (s toolset) isEmpty() bool { return s.rules != nil && len(*s.rules) == 0 }

// settings returns the settings of the agent that keep it to its tools, or nil.
func (s toolset) settings() *agent.Settings {
	if s.rules == nil {
		return nil
	}
	return &agent.Settings{Allow: s.rules}
}

// note says which tools the subagent has.
func (s toolset) note(page *mcp.Page, offer delegation.ProfileOffer) {
	asks := "does not ask before it calls tools"
	if offer.Approvals {
		asks = "asks before it calls tools, and is Paused then"
	}
	if s.rules == nil {
		page.Printf("\n\nNote: the host's profile %s decides which tools the subagent has, not this call; the subagent %s.", mcp.Words(offer.Name), asks)
		return
	}
	page.Printf("\n\nNote: the subagent's tools are %s, and no others; it %s.", mcp.Words(strings.Join(*s.rules, ", ")), asks)
	if len(s.lacking) > 0 {
		page.Printf("\nNote: the subagent has nothing for %s.", mcp.Words(strings.Join(s.lacking, ", ")))
	}
}
