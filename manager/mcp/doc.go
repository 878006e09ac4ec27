// Package mcp is the parent's side of the hatch for a model. It offers tools of the Model Context Protocol. With them
// an agent in a container lets children do tasks, waits for them, reads their output and files, and takes over their
// changes.
//
//	server, err := mcp.New(m, mcp.Options{Set: "torno", Env: os.Getenv})
//	err = server.Serve(ctx, os.Stdin, os.Stdout) // a client that has started us
//	err = server.ServeSocket(ctx, listener)       // or clients of our own user
//	err = server.ServeHTTP(ctx, listener, token)  // or clients on this machine that know a token
//
// # Promises
//
// A call returns within 20 seconds. If there is more to come, it returns a handle, because clients cut longer calls off
// and show no progress meanwhile. A tool of another system's set may take longer if that system's clients wait for it
// (Tool.Takes), or may last as long as its child (Tool.Waits). Such a tool must bring the answer when it is called
// again. A cancelled call ends a wait, never a child.
//
// A child's text is a stranger's. Every byte of it passes through quote (foreign.go) on its way to the model. It
// arrives in a field whose type is always the same and whose name begins with "untrusted". There it is escaped and
// bounded. It cannot end our words or look like a tool call.
//
// A result stays in the outbox until a later request of the client shows that the client has it. After a client has
// died, the next client finds the result again.
//
// A mistake in a call comes back as the tool's error, with the next step. The outbox is then as it was before the call.
package mcp
