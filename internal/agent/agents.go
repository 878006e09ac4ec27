package agent

// Agent is a program that thinks, as far as a profile has to know it.
type Agent struct {
	Name    string
	Brief   string // for people who choose
	Program string // where PATH has it
	Speaks  []string
	Hears   bool // its adapter brings it what its parent says while it works
}

// Agents are all that there are. What each needs to be started and understood is in its adapter.
var Agents = []Agent{
	{Name: "claude", Brief: "Claude Code", Program: "claude", Speaks: []string{"anthropic", "bedrock"}, Hears: true},
	{Name: "codex", Brief: "Codex", Program: "codex", Speaks: []string{"openai-responses"}},
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
