// Package handover is what a parent of MassGen hands its child: the text that says what the work is about, and the
// places that the child may read.
//
//	about, warning, err := handover.ReadContext(parentWorkspace)          // CONTEXT.md, which must be there
//	text := handover.Prompt(systemPrompt, about, task)                    // the request's task
//	places, err := handover.Places(task, parent, filepath.EvalSymlinks)   // the request's context_paths, all of them to read
//
// # Promises
//
// Without a CONTEXT.md no child is started. Its text is cut at ContextLimit characters, and the cut is said. A path that lies
// in none of the places which the parent itself has is an error; MassGen drops it and only its log knows. Paths are compared after
// links were followed, and what comes back is the resolved path, so that what was checked is what is mounted. The host
// checks all of it again: nothing here is its defence.
package handover
