// Package agentfile reads the files with which people describe their agents: agents/*/agent.md as Jarvis has them, and
// .claude/agents/*.md as Claude Code does.
//
//	root, _ := os.OpenRoot(projectDir)
//	set, _ := agentfile.Read(root, user, lookup)    // once, at the start
//	for _, problem := range set.Problems { ... }  // a file with a problem is not served, the others are
//	agent, err := set.Get("reviewer", caller)     // err is the text that the model sees
//	session, err := agentfile.Hold(state, agent)  // where agent.Session is true: one conversation at a time
//
// Both kinds become one type, Agent: a name, the rules for its tools, its servers, its model, the form of its answer, and
// the text below the front matter, which is its system prompt.
//
// # Promises
//
// A file is hostile until it is an Agent. Read opens what lies beneath the project's directory by handle and through no
// link, reads only regular files with one name, and bounds bytes, nodes, depth and the number of files. Anchors and
// aliases are refused, so that a small file stays small, and so are keys that occur twice.
//
// Nothing in an Agent can be an option of a command: names, models and rules for tools are parsed byte by byte.
//
// A file describes an agent; it gives no rights. A key that asks for more than a sandbox allows (hooks, a mode without
// permissions, a network) is refused with its line, also where somebody writes it with other capitals or hyphens. An
// unknown key is a Warning, with its line and the word that was probably meant. What a file asks for and Torno does not
// give is listed in Agent.NotGiven.
//
// An agent has one description: two files of one name serve neither of them. The caller of Get is what the server was
// started with, never an argument of a tool.
//
// The variables of the environment that a file may name with ${NAME} are those that Read's lookup answers. A file can
// send what it gets that way to a server in the child, so a lookup should know only what is meant for children.
package agentfile
