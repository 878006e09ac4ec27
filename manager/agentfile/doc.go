// Package agentfile reads the files with which people describe their agents: agents/*/agent.md in the form of Jarvis,
// and .claude/agents/*.md in the form of Claude Code.
//
//	root, _ := os.OpenRoot(projectDir)
//	set, _ := agentfile.Read(root, user, lookup)    // once, at the start
//	for _, problem := range set.Problems { ... }  // a file with a problem is not served, the others are
//	agent, err := set.Get("reviewer", caller)     // err is the text that the model sees
//	session, err := agentfile.Hold(state, agent)  // if agent.Session is true: one conversation at a time
//
// Both forms become one type, Agent: a name, the rules for its tools, its servers, its model, the form of its answer,
// and its system prompt, which is the text below the front matter.
//
// # Promises
//
// A file is hostile until it is an Agent. Read opens only entries below the project's directory, by handle and through
// no link. It reads only regular files with one name, and bounds bytes, nodes, depth and the number of files. It
// refuses anchors and aliases, so that a small file stays small, and keys that occur twice.
//
// An agent.md may have files beside it: its own skills, in skills/*.md, and memory.md. They become part of its prompt under
// the same rules. If one of them cannot be read, the agent is not served.
//
// Nothing in an Agent can be an option of a command: names, models and rules for tools are parsed byte by byte.
//
// A file describes an agent; it gives no rights. A key that asks for more than a sandbox allows (hooks, a mode without
// permissions, a network) is refused with its line, even if it is written with other capitals or hyphens. An unknown
// key becomes a Warning with its line and the word that was probably meant. Agent.NotGiven lists everything that a file
// asks for and Torno does not give.
//
// An agent has one description: if two files have the same name, neither is served. The caller in Get is the one with
// which the server was started, never an argument of a tool.
//
// A file may name variables of the environment as ${NAME}; Read's lookup decides which of them have a value. In this
// way a file can send a value to a server in the child, so a lookup should know only values that are meant for
// children.
package agentfile
