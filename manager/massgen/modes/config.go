package modes

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"torno/manager/massgen/team"
)

// agentConfigs reads the configurations of the parents.
func (p *parser) agentConfigs(data []byte) error {
	if err := json.Unmarshal(data, &p.settings.Agents); err != nil {
		return fmt.Errorf("it is no list of agents: %w", err)
	}
	return nil
}

// orchestrator reads subagent_orchestrator. It ignores keys that do not concern the teams of children.
func (p *parser) orchestrator(data []byte) error {
	o := struct {
		Agents         []team.Agent `json:"agents"`
		Inherit        bool         `json:"inherit_spawning_agent_backend"`
		Shared         []string     `json:"shared_child_team_types"`
		MaxNewAnswers  int          `json:"max_new_answers"`
		AnswerStrategy string       `json:"final_answer_strategy"`
		SkipSynthesis  bool         `json:"round_evaluator_skip_synthesis"`

		Coordination map[string]any  `json:"coordination"`
		NoInjection  *bool           `json:"disable_injection"`
		DeferVoting  *bool           `json:"defer_voting_until_all_answered"`
		Enabled      *bool           `json:"enabled"`
		WebSearch    json.RawMessage `json:"enable_web_search"`
		References   bool            `json:"parse_at_references"`
	}{}
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("subagent_orchestrator is malformed: %w", err)
	}
	switch o.AnswerStrategy {
	case "", "winner_reuse", "winner_present", "synthesize":
	default:
		return fmt.Errorf("final_answer_strategy %.50q is none of winner_reuse, winner_present, synthesize", o.AnswerStrategy)
	}
	if o.MaxNewAnswers < 0 {
		return fmt.Errorf("max_new_answers must be positive, got %d", o.MaxNewAnswers)
	}
	p.settings.Orchestrator = Orchestrator{
		Orchestrator:  team.Orchestrator{Agents: o.Agents, Inherit: o.Inherit, SharedTypes: o.Shared},
		MaxNewAnswers: o.MaxNewAnswers, AnswerStrategy: o.AnswerStrategy, SkipSynthesis: o.SkipSynthesis, Coordination: o.Coordination,
		Injection: o.NoInjection != nil && !*o.NoInjection, VotesAtOnce: o.DeferVoting != nil && !*o.DeferVoting,
	}
	for _, unused := range []struct {
		given bool
		why   string
	}{
		{o.Enabled != nil && !*o.Enabled, "enabled: false: its other keys hold all the same"},
		{string(o.WebSearch) == "true", "enable_web_search: a child has no network"},
		{o.References, "parse_at_references: no reference in a task is followed"},
	} {
		if unused.given {
			p.warnings = append(p.warnings, "subagent_orchestrator has no effect with "+unused.why)
		}
	}
	return team.Check(p.settings.Orchestrator.Orchestrator)
}

// contextPaths reads a list whose entries are texts, or objects with a path.
func (p *parser) contextPaths(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("it is no list of context paths: %w", err)
	}
	for i, entry := range list {
		var path string
		var object struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(entry, &path) != nil {
			if err := json.Unmarshal(entry, &object); err != nil {
				return fmt.Errorf("context path %d is neither a path nor an object with one", i)
			}
			path = object.Path
		}
		if !filepath.IsAbs(path) {
			return fmt.Errorf("context path %d, %.100q, is not absolute", i, path)
		}
		p.settings.ContextPaths = append(p.settings.ContextPaths, path)
	}
	return nil
}

// coordinationFile reads a settings file. MassGen keeps it in its agent's workspace, where the agent can change it. If
// it is gone, the copy in a peer's workspace is read. So if agents can write the file, its settings for children
// outside a sandbox do not count. MassGen gives these settings in the argv as well, and only the argv counts.
func (p *parser) coordinationFile(path string) error {
	argv := p.settings
	if err := p.file(p.coordination)(path); err != nil || !p.agentsWrite(path) {
		return err
	}
	s := &p.settings
	if s.Mode == Inherited && argv.Mode != Inherited || s.Fallback != "" && argv.Fallback == "" || len(s.Prefix) > 0 && !slices.Equal(s.Prefix, argv.Prefix) {
		p.warnings = append(p.warnings, fmt.Sprintf("%q lies where agents write, so what it says of children outside a sandbox does not count; "+
			"it has to be said with --runtime-mode, --runtime-fallback-mode and --host-launch-prefix", path))
	}
	if s.Mode == Inherited {
		s.Mode = argv.Mode
	}
	s.Fallback, s.Prefix = argv.Fallback, argv.Prefix
	return nil
}

// coordination reads orchestrator.coordination of a run configuration. It ignores keys that do not concern subagents.
func (p *parser) coordination(data []byte) error {
	s := &p.settings
	var c struct {
		Mode       *Mode            `json:"subagent_runtime_mode"`
		Fallback   *Mode            `json:"subagent_runtime_fallback_mode"`
		Prefix     *[]string        `json:"subagent_host_launch_prefix"`
		Default    *int             `json:"subagent_default_timeout"`
		Min        *int             `json:"subagent_min_timeout"`
		Max        *int             `json:"subagent_max_timeout"`
		Concurrent *int             `json:"subagent_max_concurrent"`
		Rounds     map[string]any   `json:"subagent_round_timeouts"`
		Types      *[]string        `json:"subagent_types"`
		Background *background      `json:"background_subagents"`
		Async      *json.RawMessage `json:"async_subagents"`
		Team       json.RawMessage  `json:"subagent_orchestrator"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("coordination is malformed: %w", err)
	}
	if c.Async != nil {
		return errors.New("async_subagents is an old name: write background_subagents")
	}
	set(&s.Mode, c.Mode)
	set(&s.Fallback, c.Fallback)
	set(&s.Prefix, c.Prefix)
	set(&s.Default, c.Default)
	set(&s.Min, c.Min)
	set(&s.Max, c.Max)
	set(&s.MaxConcurrent, c.Concurrent)
	set(&s.Types, c.Types)
	if c.Background != nil {
		if err := c.Background.check(); err != nil {
			return err
		}
		s.Background = c.Background.Enabled == nil || *c.Background.Enabled
	}
	if len(c.Team) > 0 && string(c.Team) != "null" {
		if err := p.orchestrator(c.Team); err != nil {
			return err
		}
	}
	s.Rounds = c.Rounds
	return checkRounds(c.Rounds)
}

func set[T any](into, from *T) {
	if from != nil {
		*into = *from
	}
}

// background is background_subagents.
type background struct {
	Enabled  *bool  `json:"enabled"`
	Strategy string `json:"injection_strategy"`
}

func (b background) check() error {
	switch b.Strategy {
	case "", "tool_result", "user_message":
		return nil
	}
	return fmt.Errorf("injection_strategy %.50q is none of tool_result, user_message", b.Strategy)
}

// checkRounds checks the times of a child's rounds. They become the child's timeout_settings.
func checkRounds(rounds map[string]any) error {
	for key, value := range rounds {
		seconds, isNumber := value.(float64)
		switch key {
		case "initial_round_timeout_seconds", "subsequent_round_timeout_seconds":
			if value != nil && (!isNumber || seconds <= 0) {
				return fmt.Errorf("subagent_round_timeouts.%s must be above 0", key)
			}
		case "round_timeout_grace_seconds":
			if value != nil && (!isNumber || seconds < 0) {
				return fmt.Errorf("subagent_round_timeouts.%s must not be below 0", key)
			}
		default:
			return fmt.Errorf("subagent_round_timeouts has the unknown field %.50q", key)
		}
	}
	return nil
}
