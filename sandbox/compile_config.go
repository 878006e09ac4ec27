package sandbox

import (
	"fmt"

	"torno/delegation"
)

// The request's yaml_config is data for the agent. Policy looks at two things in it, because the clients of MassGen have
// no other place to say them: the context, and directories that the agent will write.

// askedContext lists the places of context that the request names: in its own field or else, as MassGen does, in the
// run configuration.
func (c *compiler) askedContext() ([]place, *delegation.Refusal) {
	var asked []place
	for i, text := range c.req.ContextPaths {
		asked = append(asked, place{text: text, field: fmt.Sprintf("context_paths[%d]", i), code: delegation.CodeContext})
	}
	if len(asked) > 0 {
		return asked, nil
	}
	orchestrator, _ := c.req.YAMLConfig["orchestrator"].(map[string]any)
	const field = "yaml_config.orchestrator.context_paths"
	switch list := orchestrator["context_paths"].(type) {
	case nil:
		return nil, nil
	case string:
		return []place{{text: list, field: field, code: delegation.CodeContext}}, nil
	case []any:
		return c.configContext(field, list)
	default:
		return nil, malformedContext(field, "make it a list of paths, or of objects with a path")
	}
}

// configContext reads entries that are either a path or an object with a path and a permission. All context is
// read-only, whatever the permission says.
func (c *compiler) configContext(field string, list []any) ([]place, *delegation.Refusal) {
	var asked []place
	for i, entry := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		text, isText := entry.(string)
		if !isText {
			at += ".path"
			fields, _ := entry.(map[string]any)
			if text, isText = fields["path"].(string); !isText {
				return nil, malformedContext(at, "make it the text of a path")
			}
			if permission, ok := fields["permission"].(string); ok && permission != "read" {
				c.warn("context path %s is read-only, not %s", shown(text), shown(permission))
			}
		}
		asked = append(asked, place{text: text, field: at, code: delegation.CodeContext})
	}
	return asked, nil
}

func malformedContext(field, hint string) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeContext, Field: field, Text: "Context path is malformed: " + field, Hint: hint,
	}
}

// checkRunConfig makes sure that the directories which the agent is told to write lie in the workspace.
func (c *compiler) checkRunConfig() *delegation.Refusal {
	config := c.req.YAMLConfig
	agents, _ := config["agents"].([]any)
	for i, agent := range agents {
		if refusal := c.checkBackend(fmt.Sprintf("yaml_config.agents[%d]", i), agent); refusal != nil {
			return refusal
		}
	}
	if refusal := c.checkBackend("yaml_config.agent", config["agent"]); refusal != nil {
		return refusal
	}
	orchestrator, _ := config["orchestrator"].(map[string]any)
	for _, key := range []string{"snapshot_storage", "agent_temporary_workspace"} {
		if refusal := c.checkWritten("yaml_config.orchestrator."+key, orchestrator[key]); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *compiler) checkBackend(field string, agent any) *delegation.Refusal {
	fields, _ := agent.(map[string]any)
	backend, _ := fields["backend"].(map[string]any)
	return c.checkWritten(field+".backend.cwd", backend["cwd"])
}

// checkWritten accepts a path that is, or lies in, the workspace as the child sees it; relative ones start there. What
// is not given, or empty, is for the agent to choose.
func (c *compiler) checkWritten(field string, value any) *delegation.Refusal {
	if value == nil || value == "" {
		return nil
	}
	refuse := func(text, hint string) *delegation.Refusal {
		return &delegation.Refusal{Code: delegation.CodeInvalid, Field: field, Text: field + " is " + text, Hint: hint}
	}
	text, ok := value.(string)
	if !ok {
		return refuse("not a path", "make it the text of a path in the workspace, or leave it out")
	}
	tidy, err := TidyPath(text)
	if err != nil {
		return refuse("not in the workspace: "+shown(text), err.Error())
	}
	if tidy[0] == '/' && !Within(c.workspace.target, tidy) {
		return refuse("not in the workspace: "+shown(text), "name a directory in "+shown(c.workspace.target))
	}
	return nil
}
