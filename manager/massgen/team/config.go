package team

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Child describes the child that a run configuration is made for.
type Child struct {
	ID           string
	Workspace    string
	Type         string
	Agents       []Agent // as Resolve has chosen them
	Refine       bool
	TaskModel    string // the task's model, for agents without a model
	Fallback     string // used if neither the agent nor the task has a model
	ContextPaths []any  // each {path, permission}

	MaxNewAnswers  int    // 0 means 3
	AnswerStrategy string // final_answer_strategy; "" means synthesize for a team
	SkipSynthesis  bool   // round_evaluator_skip_synthesis
	Rounds         any    // subagent_round_timeouts, which become the child's timeout_settings; nil means none

	Coordination map[string]any // subagent_orchestrator's own, as far as nothing is fixed
	Injection    bool           // disable_injection is false
	VotesAtOnce  bool           // defer_voting_until_all_answered is false
}

// parentsOwn lists the keys of a backend that belong to one agent and are never inherited.
var parentsOwn = []string{
	"cwd", "agent_id", "instance_id", "filesystem_session_id", "session_storage_base", "agent_temporary_workspace",
}

// Config returns the run configuration of a child: a request's yaml_config.
func Config(c Child) map[string]any {
	agents := make([]any, len(c.Agents))
	for i, agent := range c.Agents {
		agents[i] = c.agent(i+1, agent)
	}
	coordination := map[string]any{}
	maps.Copy(coordination, c.Coordination)
	maps.Copy(coordination, map[string]any{"enable_subagents": false, "broadcast": false, "learning_capture_mode": "final_only"})
	orchestrator := map[string]any{
		"snapshot_storage":          filepath.Join(c.Workspace, "snapshots"),
		"agent_temporary_workspace": filepath.Join(c.Workspace, "temp"),
		"coordination":              coordination,
		"max_new_answers_per_agent": c.MaxNewAnswers,
	}
	if len(c.ContextPaths) > 0 {
		orchestrator["context_paths"] = c.ContextPaths
	}
	if c.MaxNewAnswers == 0 {
		orchestrator["max_new_answers_per_agent"] = 3
	}
	if !c.Refine {
		c.once(orchestrator)
	}
	config := map[string]any{"agents": agents, "orchestrator": orchestrator}
	if c.Rounds != nil {
		config["timeout_settings"] = c.Rounds
	}
	return config
}

// once makes a child answer once, without rounds of refinement.
func (c Child) once(orchestrator map[string]any) {
	orchestrator["max_new_answers_per_agent"] = 1
	if len(c.Agents) == 1 {
		orchestrator["skip_final_presentation"], orchestrator["skip_voting"] = true, true
		return
	}
	orchestrator["disable_injection"], orchestrator["defer_voting_until_all_answered"] = !c.Injection, !c.VotesAtOnce
	orchestrator["final_answer_strategy"] = "synthesize"
	if c.AnswerStrategy != "" {
		orchestrator["final_answer_strategy"] = c.AnswerStrategy
	}
	orchestrator["skip_final_presentation"] = c.Type != "round_evaluator" || c.SkipSynthesis
}

// agent returns the nth agent of the child, with a directory of its own.
func (c Child) agent(n int, source Agent) map[string]any {
	backend := map[string]any{}
	inherited, _ := source["backend"].(map[string]any)
	for key, value := range inherited {
		if !slices.Contains(parentsOwn, key) {
			backend[key] = value
		}
	}
	backend["cwd"] = filepath.Join(c.Workspace, fmt.Sprintf("agent_%d", n))
	for _, model := range []string{c.TaskModel, c.Fallback} {
		if own, _ := backend["model"].(string); own == "" && model != "" {
			backend["model"] = model
		}
	}
	id, _ := source["id"].(string)
	if id == "" {
		id = fmt.Sprintf("%s_agent_%d", c.ID, n)
	}
	return map[string]any{"id": id, "backend": backend}
}
