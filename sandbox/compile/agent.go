package compile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/massgen"
	"torno/internal/runfile"
	"torno/sandbox"
)

// agentCommand returns the command that starts an agent's adapter, which is part of init's program, with everything
// that the adapter has to know.
func agentCommand(p Profile, asked, session string, settings bool) []string {
	command := []string{runfile.Init, "agent", p.Agent, "--task", taskFilePlaceholder}
	if p.AnswerMode() == AnswerFile {
		command = append(command, "--answer", answerPlaceholder)
	}
	if model := cmp.Or(p.Model, asked); model != "" && !agent.Find(p.Agent).Configured { // otherwise the configuration names it
		command = append(command, "--model", model)
	}
	if session != "" {
		command = append(command, "--session", sandbox.RunDir+"/"+sandbox.SessionFile)
	}
	if settings {
		command = append(command, "--settings", sandbox.RunDir+"/"+settingsFile)
	}
	if agent.Find(p.Agent).Configured {
		command = append(command, "--config", configPlaceholder)
	}
	if p.Approvals != nil {
		command = append(command, "--ask", "tools")
	}
	if p.Messages {
		command = append(command, "--hear", "messages")
	}
	command = append(command, "--")
	if len(p.Command) > 0 {
		return append(command, p.Command...)
	}
	return append(command, agent.Find(p.Agent).Program)
}

// Hears reports whether the agent of a profile receives the parent's messages while it works. Some agents do so only
// when told to (Messages); they also do so when they ask for approvals.
func (p Profile) Hears() bool {
	known := agent.Find(p.Agent)
	return known != nil && (known.Hears || known.CanHear && (p.Messages || p.Approvals != nil))
}

// runConfig returns the run configuration that the agent or the command reads from a file of the host.
func (c *compiler) runConfig() ([]byte, *delegation.Refusal) {
	refuse := func(code delegation.Code, field, text, hint string) ([]byte, *delegation.Refusal) {
		return nil, &delegation.Refusal{Code: code, Field: field, Text: text, Hint: hint}
	}
	config := massgen.Clean(c.req.YAMLConfig)
	if c.isConfigured() {
		run := massgen.Run{
			ID: c.req.SubagentID.String(), Workspace: c.workspace.target, Base: c.profile.Env["OPENAI_BASE_URL"], Model: c.profile.Model, Fallback: c.req.Model.String(),
		}
		for _, p := range c.context {
			run.Context = append(run.Context, p.target)
		}
		var err error
		if config, err = run.Config(config); err != nil {
			return refuse(delegation.CodeInvalid, "model", "The child has no model: "+err.Error(), "name one in model, or have the operator write model: ROUTE/MODEL in profile "+c.profile.Name)
		}
	}
	content, err := massgen.Encode(config)
	if err != nil {
		return refuse(delegation.CodeTooBig, "yaml_config", "The yaml_config cannot be handed on: "+err.Error(), "make it smaller or nest it less")
	}
	return content, nil
}

func (c *compiler) isConfigured() bool {
	known := agent.Find(c.profile.Agent)
	return known != nil && known.Configured
}

// checkTask refuses a task that cannot be an argument, if the agent wants it as one.
func (c *compiler) checkTask() *delegation.Refusal {
	switch {
	case !c.isConfigured():
		return nil
	case len(c.req.Task) > MaxArgument:
		refusal := taskTooLong(len(c.req.Task))
		refusal.Hint = "shorten it, or put the long part into a file of the workspace and name the file"
		return refusal
	case strings.ContainsRune(c.req.Task, 0):
		return taskWithZero()
	}
	return nil
}

// takeSettings reads the settings that the request gives its agent beside the task. They become a file of the host,
// which the child cannot change. If the agent takes no settings, the request is refused: no agent runs with less than
// the request asked for.
func (c *compiler) takeSettings() *delegation.Refusal {
	given, there := c.req.YAMLConfig[agent.SettingsKey]
	if !there {
		return nil
	}
	field := "yaml_config." + agent.SettingsKey
	if known := agent.Find(c.profile.Agent); known == nil || !known.Takes {
		return &delegation.Refusal{
			Code: delegation.CodeInvalid, Field: field,
			Text: fmt.Sprintf("The profile %s has no agent that takes settings", c.profile.Name), Hint: "choose a profile with agent: claude, or leave the settings out",
		}
	}
	text, err := json.Marshal(given)
	var settings agent.Settings
	if err == nil {
		settings, err = agent.DecodeSettings(text)
	}
	if err == nil && c.profile.Approvals != nil && len(settings.Servers) > 0 {
		return &delegation.Refusal{
			Code: delegation.CodeInvalid, Field: field + ".mcp_servers",
			Text: fmt.Sprintf("The agent of the profile %s asks before it uses a tool, but starts MCP servers without asking", c.profile.Name),
			Hint: "choose a profile without approvals, or leave the servers out",
		}
	}
	if err != nil {
		return &delegation.Refusal{Code: delegation.CodeInvalid, Field: field, Text: "The settings of the agent cannot be used: " + err.Error(), Hint: "correct them"}
	}
	c.settings = text
	return nil
}
