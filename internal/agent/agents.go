package agent

// Agent describes a program that thinks: everything that a profile must know about it.
type Agent struct {
	Name    string
	Brief   string // for people who choose
	Program string // the program's name in PATH
	Speaks  []string
	Hears   bool // its adapter brings it its parent's messages while it works
	CanHear bool // as Hears, but only when the profile asks for it: the adapter then drives it in another way
	Takes   bool // its adapter gives it Settings
	Asks    bool // it can be made to ask before it calls a tool
	// Configured marks an agent that reads a request's yaml_config as a file, and gets its task as an argument.
	Configured bool
}

// Agents lists all known agents. Package adapter knows how to start and understand each of them.
var Agents = []Agent{
	{Name: "claude", Brief: "Claude Code", Program: "claude", Speaks: []string{"anthropic", "bedrock"}, Hears: true, Takes: true, Asks: true},
	{Name: "codex", Brief: "Codex", Program: "codex", Speaks: []string{"openai-responses"}, CanHear: true, Asks: true},
	{Name: "massgen", Brief: "MassGen", Program: "massgen", Speaks: []string{"openai-chat"}, Hears: true, Configured: true},
}

// Find returns the agent of this name, or nil.
func Find(name string) *Agent {
	for i := range Agents {
		if Agents[i].Name == name {
			return &Agents[i]
		}
	}
	return nil
}

// Names returns the names of all agents.
func Names() []string {
	names := make([]string, len(Agents))
	for i, a := range Agents {
		names[i] = a.Name
	}
	return names
}
