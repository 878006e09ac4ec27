// Package mcp is the parent's side of the hatch for a model: tools of the Model Context Protocol by which an agent in a
// container has tasks done by children, waits for them, reads what they left and takes it over.
//
//	server, err := mcp.New(m, mcp.Options{Set: "torno", Env: os.Getenv})
//	err = server.Serve(ctx, os.Stdin, os.Stdout) // a client that has started us
//	err = server.ServeSocket(ctx, listener)       // or clients of our own user
//	err = server.ServeHTTP(ctx, listener, token)  // or clients on this machine that know a token
//
// # Promises
//
// A call returns within 20 seconds, with a handle where there is more to come: clients cut longer ones off, and show no progress
// meanwhile. A tool of another system's set may take longer where that system's clients wait for it (Tool.Takes), or last as long as its child
// (Tool.Waits), and must then bring the answer when it is called again. A cancelled call ends a wait, never a child.
//
// A child's text is a stranger's. Every byte of it passes through quote (foreign.go) on its way to the model, and arrives in
// a field of one type, whose name begins with "untrusted": escaped, bounded, unable to end our words or to look like a call of a tool.
//
// A result stays in the outbox until the client has shown that it has it, by a later request. A client that dies finds it again.
//
// What is bad about a call is said in a tool's error with the next step; the outbox is then as it was before.
package mcp
