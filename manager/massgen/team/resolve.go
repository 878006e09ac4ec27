package team

import (
	"fmt"
	"slices"
)

// Agent is one agent of a run configuration, in MassGen's keys.
type Agent map[string]any

// Orchestrator holds the settings for teams in subagent_orchestrator.
type Orchestrator struct {
	Agents      []Agent
	Inherit     bool     // inherit_spawning_agent_backend
	SharedTypes []string // shared_child_team_types; nil means only round_evaluator, and "*" means all
}

// maxAgents bounds the number of agents in a team.
const maxAgents = 10

// errTooMany is MassGen's text when it refuses a larger team.
const errTooMany refusal = "Cannot have more than 10 agents for subagents"

// refusal is one of MassGen's texts, to the letter: it begins like a sentence.
type refusal string

func (r refusal) Error() string { return string(r) }

// defaultShared lists the types that get the common agents if the configuration does not say.
var defaultShared = []string{"round_evaluator"}

// Check returns an error if there are too many common agents.
func Check(o Orchestrator) error {
	if len(o.Agents) > maxAgents {
		return errTooMany
	}
	return nil
}

// Resolve chooses the agents of a child. If the child's type shares the common agents, it takes those. Otherwise it
// takes the first of these that exists: the spawning agent's own subagents, a single agent with the spawning agent's
// backend, the common agents, all parents.
func Resolve(subagentType string, o Orchestrator, parents []Agent, spawning string) ([]Agent, error) {
	if err := Check(o); err != nil {
		return nil, err
	}
	types := o.SharedTypes
	if types == nil {
		types = defaultShared
	}
	shared := slices.Contains(types, "*") || subagentType != "" && slices.Contains(types, subagentType)
	local, err := localTeam(o, parents, spawning, shared)
	if err != nil {
		return nil, err
	}
	switch {
	case shared && len(o.Agents) > 0:
		return o.Agents, nil
	case len(local) > 0:
		return local, nil
	case len(o.Agents) > 0:
		return o.Agents, nil
	}
	return parents, nil
}

// localTeam returns the spawning agent's own subagents, or a single agent with the spawning agent's backend.
func localTeam(o Orchestrator, parents []Agent, spawning string, shared bool) ([]Agent, error) {
	i := slices.IndexFunc(parents, func(parent Agent) bool { return parent["id"] == spawning })
	if i < 0 {
		if o.Inherit {
			return nil, refusal(fmt.Sprintf("Unable to inherit backend for spawning parent agent '%s': parent agent config not found", spawning))
		}
		return nil, nil
	}
	var own []Agent
	list, _ := parents[i]["subagent_agents"].([]any)
	for _, entry := range list {
		if agent, ok := entry.(map[string]any); ok {
			own = append(own, agent)
		}
	}
	if len(own) > maxAgents {
		return nil, errTooMany
	}
	backend, ok := parents[i]["backend"].(map[string]any)
	if len(own) == 0 && ok && (o.Inherit || !shared) {
		own = []Agent{{"backend": backend}}
	}
	return own, nil
}
