package agent

// Agent is a program that thinks, as far as a profile has to know it.
type Agent struct {
	Name    string
	Brief   string // for people who choose
	Program string // where PATH has it
	Speaks  []string
	Hears   bool // its adapter brings it what its parent says while it works
	CanHear bool // so it does where it is told to: it is driven in another way then
	Takes   bool // its adapter gives it Settings
	Asks    bool // it can be made to ask whether it may call a tool
	// Configured is an agent that reads a request's yaml_config, as a file, and its task as an argument.
	Configured bool
}

// Agents are all that there are. What each needs to be started and understood is in its adapter.
var Agents = []Agent{
	{Name: "claude", Brief: "Claude Code", Program: "claude", Speaks: []string{"anthropic", "bedrock"}, Hears: true, Takes: true, Asks: true},
	{Name: "codex", Brief: "Codex", Program: "codex", Speaks: []string{"openai-responses"}, CanHear: true, Asks: true},
	{Name: "massgen", Brief: "MassGen", Program: "massgen", Speaks: []string{"openai-chat"}, Hears: true, Configured: true},
}

// Find returns an agent by its name, nil where there is none.
func Find(name string) *Agent {
	for i := range Agents {
		if Agents[i].Name == name {
			return &Agents[i]
		}
	}
	return nil
}

// Names are those of all agents.
func Names() []string {
	names := make([]string, len(Agents))
	for i, a := range Agents {
		names[i] = a.Name
	}
	return names
}
