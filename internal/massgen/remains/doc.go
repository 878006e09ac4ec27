// Package remains finds what a MassGen has left in its workspace and in its logs: how far it was, and an answer.
//
//	saved := remains.Recover(remains.Places{Workspace: root, WorkspacePath: path}) // reads, writes nothing
//	saved, ok := remains.Read(status)                                             // of one status.json
//
// What is read was written by a child. Files are opened by handle, never through a link, only where they are regular and have
// one name, and up to a bound; a path in a status file counts only where it leads into the child's own workspace. An answer that cannot
// be read is no answer. Which remains count as an answer is for the caller: a parent's tools, or the agent's adapter.
package remains
