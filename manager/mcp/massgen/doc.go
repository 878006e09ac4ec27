// Package massgen is the set of tools that agents of MassGen know: subagents that are spawned, listed, continued, told something and
// cancelled, and the tools for what works in the background.
//
//	settings, warnings, err := massgen.Settings(args, workingDirectory)  // the argv of MassGen's own server
//	server, err := mcp.New(m, mcp.Options{Set: massgen.Name, Sets: []mcp.Set{massgen.Set(settings)}, Env: os.Getenv})
//
// What these tools take and refuse is decided in manager/massgen, which opens nothing. Here it meets the desk: a subagent is a subagent of
// the outbox with the same name.
//
// # Promises
//
// The answers are MassGen's, as JSON in a text, a failure too. What a child has written is in them as quoted text, and a note behind
// them says so. What a child has written in no way becomes a status, a path or a name that is not marked as its own.
//
// A call that blocks does so as long as MassGen's does. If its client gives up, the children go on, and their results come with the answer
// of a later call: each ended child that has not been shown is shown once, also by another server.
//
// The files in the workspace are for MassGen's screens, and for a server that comes after this one. The outbox is the truth.
package massgen
