// Package evaluation does a launcher's duty to the evaluator of a round of MassGen: it brings the evaluator's three
// files to the place where MassGen looks for them, and reports the mistakes in them.
//
//	faults := evaluation.Bring(workspace) // after the evaluator's end, even after a failure
//	err := evaluation.Verdict(data)       // verdict.json
//	err = evaluation.NextTasks(data)      // next_tasks.json
//
// # Promises
//
// A child wrote the files. The package reads them by handle, up to a bound, and only regular files with a single name.
// If a file is not at the root of the workspace, Bring copies it there from the places where MassGen's agents leave
// their files. Of several it takes the newest. It overwrites nothing.
package evaluation
