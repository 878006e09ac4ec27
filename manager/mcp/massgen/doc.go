// Package massgen is the set of tools that agents of MassGen know. With them an agent spawns, lists, continues and
// cancels subagents, and sends messages to them. Other tools look after work in the background.
//
//	settings, warnings, err := massgen.Settings(args, workingDirectory)  // the argv of MassGen's own server
//	server, err := mcp.New(m, mcp.Options{Set: massgen.Name, Sets: []mcp.Set{massgen.Set(settings)}, Env: os.Getenv})
//
// Package manager/massgen decides what these tools accept and refuse; it opens nothing. This package connects it to the
// desk: a subagent is the subagent of the outbox with the same name.
//
// # Promises
//
// The answers are MassGen's, as JSON in a text, even for a failure. They contain a child's text only quoted, and a note
// after them says so. A child's text never becomes a status, and never becomes a path or a name unless it is marked as
// the child's.
//
// A blocking call blocks as long as MassGen's does. If its client gives up, the children go on, and their results come
// with the answer of a later call. Each ended child that has not been shown yet is shown once, by this server or by
// another server.
//
// The files in the workspace are for MassGen's screens, and for a server that comes after this one. Only the outbox
// holds the truth.
package massgen
