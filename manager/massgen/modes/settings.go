package modes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"torno/manager/massgen/team"
)

// Mode is where children run.
type Mode string

// The modes.
const (
	Isolated  Mode = "isolated"
	Inherited Mode = "inherited"
	Delegated Mode = "delegated"
)

// Settings is what a server of subagents is started with.
type Settings struct {
	AgentID, OrchestratorID string
	Workspace               string // the parent's
	Project                 string // the directory with .agent
	InContainer             bool
	Temp                    string // the directory of the peers' workspaces, or ""
	Logs                    string // where logs of children are kept, or ""
	Profile                 string // the host's profile for children; "" is for the set to choose

	MaxConcurrent int
	Default       int // seconds that a child may run
	Min, Max      int

	Mode     Mode
	Fallback Mode // Inherited or ""
	Prefix   []string

	Agents       []team.Agent // the parents' configurations
	Orchestrator Orchestrator
	ContextPaths []string // the parent's own
	Types        []string // nil is DefaultTypes
	Rounds       map[string]any
	Background   bool // whether calls may have their children work in the background
}

// Orchestrator is subagent_orchestrator.
type Orchestrator struct {
	team.Orchestrator
	MaxNewAnswers  int
	AnswerStrategy string
	SkipSynthesis  bool
}

// DefaultTypes are the kinds of subagents that are on where nothing names any.
var DefaultTypes = []string{"evaluator", "explorer", "researcher", "critic"}

func defaults() Settings {
	return Settings{MaxConcurrent: 3, Default: 300, Min: 60, Max: 600, Mode: Isolated, Background: true}
}

// refusal is a text of MassGen's, to the letter.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// check says what is wrong, in MassGen's order, and what will be changed.
func (s *Settings) check() (warnings []string, err error) {
	switch {
	case s.Min <= 0:
		return nil, refuse("subagent_min_timeout must be positive, got %d", s.Min)
	case s.Min > s.Max:
		return nil, refuse("subagent_min_timeout (%d) must be <= subagent_max_timeout (%d)", s.Min, s.Max)
	case !slices.Contains([]Mode{Isolated, Inherited, Delegated}, s.Mode):
		return nil, refuse("Invalid subagent_runtime_mode: '%s'. Must be one of: ['delegated', 'inherited', 'isolated']", s.Mode)
	case s.Fallback != "" && s.Fallback != Inherited:
		return nil, refuse("Invalid subagent_runtime_fallback_mode: '%s'. Must be one of [None, 'inherited']", s.Fallback)
	case s.Fallback != "" && s.Mode == Inherited:
		return nil, refuse("subagent_runtime_fallback_mode is only valid when subagent_runtime_mode is 'isolated' or 'delegated'")
	case slices.ContainsFunc(s.Prefix, func(token string) bool { return strings.TrimSpace(token) == "" }):
		return nil, refuse("subagent_host_launch_prefix must contain only non-empty string tokens")
	case s.MaxConcurrent < 1 || s.MaxConcurrent > maxConcurrent:
		return nil, fmt.Errorf("subagent_max_concurrent must be from 1 to %d, got %d", maxConcurrent, s.MaxConcurrent)
	case s.Max > maxSeconds || s.Default > maxSeconds || s.Default < 0:
		return nil, fmt.Errorf("subagent timeouts must be from 1 to %d seconds", maxSeconds)
	}
	if s.Default < s.Min || s.Default > s.Max {
		warnings = append(warnings, fmt.Sprintf("subagent_default_timeout (%d) is outside the range from %d to %d and will be clamped at runtime", s.Default, s.Min, s.Max))
	}
	s.Max = max(s.Max, s.Default)
	return warnings, nil
}

const (
	maxConcurrent = 64
	maxSeconds    = 31 * 24 * 3600
)

// Clamp is how many seconds a child may run that asks for so many; 0 asks for nothing.
func (s Settings) Clamp(seconds int) int { return max(s.Min, min(s.Max, cmp.Or(seconds, s.Default))) }
