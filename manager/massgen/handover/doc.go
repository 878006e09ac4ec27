// Package handover prepares the things that a parent of MassGen hands to its child: the text that explains the work,
// and the places that the child may read.
//
//	about, warning, err := handover.ReadContext(parentWorkspace)          // CONTEXT.md must exist
//	text := handover.Prompt(systemPrompt, about, task)                    // the request's task
//	places, err := handover.Places(task, parent, filepath.EvalSymlinks)   // the request's context_paths, all read-only
//
// # Promises
//
// Without a CONTEXT.md no child starts. The package cuts its text at ContextLimit characters and warns of the cut. A
// path outside all places that the parent itself may read is an error. MassGen would drop such a path, and only its log
// would tell. The package compares paths after it has followed links, and returns the resolved paths, so the checked
// path is the mounted path. The host checks everything again and does not rely on this package.
package handover
