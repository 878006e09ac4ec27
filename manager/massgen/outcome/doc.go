// Package outcome turns the end of a run into the result that MassGen's tools report. Package remains finds the work
// that a child had done when its time was up.
//
//	saved := remains.Recover(remains.Places{Log: log, Workspace: root, WorkspacePath: path}) // reads, writes nothing
//	result := outcome.Judge(end, saved)
//	text := outcome.Inject(result)                                                          // for the parent's model
//
// # Promises
//
// A run that completed with exit code 0 is a success, even without an answer. If a run's time was up, or its parent
// gave up, Judge decides by the remains; see Judge for the matrix. Everything else is an error. Every result has one of
// five statuses. Inject prevents an answer from ending its own frame or beginning another frame.
package outcome
