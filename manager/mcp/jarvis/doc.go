// Package jarvis is the tool that agents of Jarvis know: run_subagent, over the agents that the files of a project describe.
//
//	set, notices, err := jarvis.Open(jarvis.Options{Project: dir, Outbox: outbox, Caller: "main", Env: os.Getenv})
//	server, err := mcp.New(m, mcp.Options{Set: jarvis.Name, Sets: []mcp.Set{set}, Env: os.Getenv})
//
// The name, the arguments and the texts are Jarvis's. The files are read by package agentfile, and an answer is checked against its schema by
// package answerschema. An agent with session: true is the subagent of its name, and goes on with its conversation at each call; any other
// agent is a new subagent at each call.
//
// # Promises
//
// The files are read once, when the set is opened, and never from where children of the outbox write. The caller is what the server was started
// with: no argument of a call says it.
//
// An agent that the host cannot have keep to the rules of its file is not run. What its file asks for and it does not get is said in the tool's
// description, or in the answer where only the host knows.
//
// A call waits for as long as its agent runs. A client that cuts a call off ends the wait and not the agent: the same call again waits on and
// brings the answer. What a cut call would have brought stays in the outbox until then.
//
// An agent has one conversation at a time, in all servers of this user: a second call is refused while the first one is under way.
package jarvis
