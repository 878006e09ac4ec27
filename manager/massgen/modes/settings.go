package modes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"torno/manager/massgen/team"
)

// Mode says where children run.
type Mode string

// These are the modes.
const (
	Isolated  Mode = "isolated"
	Inherited Mode = "inherited"
	Delegated Mode = "delegated"
)

// Settings holds the settings of a server of subagents.
type Settings struct {
	AgentID, OrchestratorID string
	Workspace               string // the parent's workspace
	Project                 string // the directory that holds .agent
	InContainer             bool
	Outbox                  string // the directory for requests, or "" if the settings name none
	NoOutbox                bool   // there is no directory for requests
	Temp                    string // the directory of the peers' workspaces, or ""
	Logs                    string // where the logs of children are kept, or ""
	Profile                 string // the host's profile for children; "" lets the set choose

	MaxConcurrent int
	Default       int // seconds that a child may run by default
	Min, Max      int

	Mode     Mode
	Fallback Mode // Inherited or ""
	Prefix   []string

	Agents       []team.Agent // the parents' configurations
	Orchestrator Orchestrator
	ContextPaths []string // the parent's own context paths
	Types        []string // nil means DefaultTypes
	Rounds       map[string]any
	Background   bool // whether calls may let their children work in the background
}

// Orchestrator is subagent_orchestrator.
type Orchestrator struct {
	team.Orchestrator
	MaxNewAnswers  int
	AnswerStrategy string
	SkipSynthesis  bool
	Coordination   map[string]any
	Injection      bool // disable_injection is false
	VotesAtOnce    bool // defer_voting_until_all_answered is false
}

// DefaultTypes are the kinds of subagents that are on if the settings name none.
var DefaultTypes = []string{"evaluator", "explorer", "researcher", "critic"}

func defaults() Settings {
	return Settings{MaxConcurrent: 3, Default: 300, Min: 60, Max: 600, Mode: Isolated, Background: true}
}

// refusal is one of MassGen's texts, to the letter.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// check returns the first mistake in MassGen's order, and warns of the values that will be changed.
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

// Clamp brings a requested number of seconds into the range that a child may run. 0 means the default.
func (s Settings) Clamp(seconds int) int { return max(s.Min, min(s.Max, cmp.Or(seconds, s.Default))) }
