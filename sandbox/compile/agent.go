package compile

import (
	"cmp"

	"torno/internal/agent"
	"torno/internal/runfile"
	"torno/sandbox"
)

// agentCommand starts an agent's adapter, which is in init's program, and names what the adapter has to know.
func agentCommand(p Profile, asked, session string) []string {
	command := []string{runfile.Init, "agent", p.Agent, "--task", taskFilePlaceholder}
	if p.AnswerMode() == AnswerFile {
		command = append(command, "--answer", answerPlaceholder)
	}
	if model := cmp.Or(p.Model, asked); model != "" {
		command = append(command, "--model", model)
	}
	if session != "" {
		command = append(command, "--session", sandbox.RunDir+"/"+sandbox.SessionFile)
	}
	if p.Approvals != nil {
		command = append(command, "--ask", "tools")
	}
	command = append(command, "--")
	if len(p.Command) > 0 {
		return append(command, p.Command...)
	}
	return append(command, agent.Find(p.Agent).Program)
}

// Hears says whether an agent takes what its parent says while it works.
func Hears(name string) bool {
	known := agent.Find(name)
	return known != nil && known.Hears
}
