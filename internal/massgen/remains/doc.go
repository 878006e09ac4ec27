// Package remains finds the traces that a MassGen has left in its workspace and in its logs: how far it came, and an
// answer.
//
//	saved := remains.Recover(remains.Places{Workspace: root, WorkspacePath: path}) // reads, writes nothing
//	saved, ok := remains.Read(status)                                             // reads one status.json
//
// A child wrote everything that this package reads. So the package opens files by handle and never follows a link. It
// reads only regular files that have a single name, and only up to a bound. It heeds a path in a status file only if
// the path leads into the child's own workspace. An unreadable answer counts as no answer. The caller (a parent's
// tools, or the agent's adapter) decides which remains it accepts as an answer.
package remains
