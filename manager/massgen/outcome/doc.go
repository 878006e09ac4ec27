// Package outcome turns the end of a run into the result that MassGen's tools report, and finds again what a child had made
// when its time was up.
//
//	saved := outcome.Recover(outcome.Places{Log: log, Workspace: root, WorkspacePath: path}) // reads, writes nothing
//	result := outcome.Judge(end, saved)
//	text := outcome.Inject(result)                                                          // for the parent's model
//
// # Promises
//
// A run that completed with exit code 0 is a success even without an answer. A run whose time was up, or that its parent gave
// up, is judged by what is left of it: see Judge for the matrix. Everything else is an error, and every result has one of
// five statuses.
//
// What is read was written by the child. Files are opened by handle, never through a link, only where they are regular and have
// one name, and up to a bound; a path in a status file counts only where it leads into the child's own workspace. An answer that cannot
// be read is no answer. Inject lets no answer end its own frame or begin another one.
package outcome
