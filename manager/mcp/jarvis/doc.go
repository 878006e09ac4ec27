// Package jarvis is the tool that agents of Jarvis know: run_subagent. It runs the agents that the files of a project
// describe.
//
//	set, notices, err := jarvis.Open(jarvis.Options{Project: dir, Outbox: outbox, Caller: "main", Env: os.Getenv})
//	server, err := mcp.New(m, mcp.Options{Set: jarvis.Name, Sets: []mcp.Set{set}, Env: os.Getenv})
//
// The name, the arguments and the texts are Jarvis's. Package agentfile reads the files. Package answerschema checks an
// answer against its schema. An agent with session: true is the subagent with the same name, and goes on with its
// conversation at each call. Any other agent is a new subagent at each call.
//
// # Promises
//
// The files are read once, when the set is opened, and never from a place where children of the outbox write. The start
// of the server determines the caller; no argument of a call can change it.
//
// If the host cannot make an agent keep to the rules of its file, the agent is not run. The tool's description lists
// everything that a file asks for and the agent does not get. If only the host knows, the answer lists it.
//
// A call waits as long as its agent runs. If a client cuts a call off, the wait ends but not the agent. The same call
// made again waits on and brings the answer. Until then the answer stays in the outbox.
//
// An agent has one conversation at a time, across all servers of this user. While a call is running, a second call is
// refused.
package jarvis
