// Package outcome turns the end of a run into the result that MassGen's tools report. What a child had made when its time was up is found by
// package remains.
//
//	saved := remains.Recover(remains.Places{Log: log, Workspace: root, WorkspacePath: path}) // reads, writes nothing
//	result := outcome.Judge(end, saved)
//	text := outcome.Inject(result)                                                          // for the parent's model
//
// # Promises
//
// A run that completed with exit code 0 is a success even without an answer. A run whose time was up, or that its parent gave
// up, is judged by what is left of it: see Judge for the matrix. Everything else is an error, and every result has one of
// five statuses. Inject lets no answer end its own frame or begin another one.
package outcome
