package massgen

import (
	"errors"
	"fmt"
	"maps"
	"path"
)

// Run holds everything that a sandbox gives to the MassGen that runs in it.
type Run struct {
	ID        string   // the subagent's ID
	Workspace string   // the workspace's path inside the sandbox
	Context   []string // places that the agents may read
	Base      string   // URL of an API that speaks like OpenAI's chat API; "" if there is none
	Model     string   // the operator's choice; every agent that uses Base gets it
	Fallback  string   // the request's choice, for agents that name no model
}

// BackendChat is the type of a backend that speaks like OpenAI's chat API, to any address.
const BackendChat = "chatcompletion"

// ErrNoModel means that an agent has no model to think with.
var ErrNoModel = errors.New("an agent of the run configuration names no model")

// Config returns the run configuration for a MassGen that is itself an agent: the request's configuration, cleaned,
// plus everything that the sandbox gives. If the configuration has no agents, Config adds an agent that answers once.
// The agents spawn no subagents. They write below the workspace unless the configuration names other directories. They
// read the sandbox's context and no other. The argument is unchanged.
func (r Run) Config(config map[string]any) (map[string]any, error) {
	clean := Clean(config)
	orchestrator := maps.Clone(objectAt(clean, "orchestrator"))
	if orchestrator == nil {
		orchestrator = map[string]any{}
	}
	clean["orchestrator"] = orchestrator
	if clean["agent"] == nil && clean["agents"] == nil {
		clean["agents"] = []any{map[string]any{"id": r.ID + "_agent_1", "backend": map[string]any{}}}
		maps.Copy(orchestrator, map[string]any{"max_new_answers_per_agent": int64(1), "skip_final_presentation": true, "skip_voting": true})
	}
	coordination := maps.Clone(objectAt(orchestrator, "coordination"))
	if coordination == nil {
		coordination = map[string]any{}
	}
	coordination["enable_subagents"] = false
	orchestrator["coordination"] = coordination
	setUnlessThere(orchestrator, "snapshot_storage", path.Join(r.Workspace, "snapshots"))
	setUnlessThere(orchestrator, "agent_temporary_workspace", path.Join(r.Workspace, "temp"))
	orchestrator["context_paths"] = r.contextPaths()
	agents, _ := clean["agents"].([]any)
	for i, agent := range agents {
		if err := r.complete(agent, i+1); err != nil {
			return nil, err
		}
	}
	if clean["agent"] == nil {
		return clean, nil
	}
	return clean, r.complete(clean["agent"], 1)
}

func (r Run) contextPaths() []any {
	all := make([]any, len(r.Context))
	for i, place := range r.Context {
		all[i] = map[string]any{"path": place, "permission": readOnly}
	}
	return all
}

// complete gives an agent a directory and a model. The agent must be part of our copy. A backend of another type than
// BackendChat finds its API through the environment.
func (r Run) complete(agent any, n int) error {
	fields, _ := agent.(map[string]any)
	backend, ok := fields["backend"].(map[string]any)
	if !ok {
		return nil // MassGen reports the mistake itself
	}
	setUnlessThere(backend, "type", BackendChat)
	setUnlessThere(backend, "cwd", path.Join(r.Workspace, fmt.Sprintf("agent_%d", n)))
	backend[executionMode] = "local"
	if backend["type"] == BackendChat {
		if r.Base != "" {
			backend["base_url"] = r.Base
		}
		if r.Model != "" {
			backend["model"] = r.Model
		}
	}
	if r.Fallback != "" {
		setUnlessThere(backend, "model", r.Fallback)
	}
	if backend["type"] == BackendChat && (backend["model"] == nil || backend["model"] == "") {
		return ErrNoModel
	}
	return nil
}

func setUnlessThere(object map[string]any, key string, value any) {
	if object[key] == nil || object[key] == "" {
		object[key] = value
	}
}
