// Package evaluation is what a launcher owes the evaluator of a round of MassGen: its three files stand where MassGen looks for them, and what is
// wrong with them is said.
//
//	faults := evaluation.Bring(workspace) // after the evaluator's end, also after a failure
//	err := evaluation.Verdict(data)       // verdict.json
//	err = evaluation.NextTasks(data)      // next_tasks.json
//
// # Promises
//
// The files are a child's: they are read by handle, bounded, as regular files with one name. Bring copies a file to the root of the workspace where
// it is only below, in one of the places where MassGen's agents leave theirs, and the newest of several. It overwrites nothing.
package evaluation
