// Package massgen knows how an agent of MassGen expects the tools for its subagents to behave: their arguments, the
// words of their refusals, and the form of their results. It decides and phrases. It opens no file and starts no child.
//
//	spawn, failure := massgen.ParseSpawn(arguments, parent)  // spawn_subagents, in MassGen's order of checks
//	if failure != nil { ... }                                // failure is the tool's whole answer, as JSON
//	again, failure := massgen.ParseContinue(arguments)
//	failure = again.Check(child)                             // may this child be continued?
//
// # Promises
//
// If MassGen has a text for a mistake, we use MassGen's text to the letter. We look for mistakes in MassGen's order. So
// a model that knows one system knows the other. MassGen accepts some things that Torno refuses: a name that no file
// can have, a field that nothing reads, a value of the wrong type. We report those last, in our own words, with the
// next step.
//
// Arguments are a stranger's bytes. We bound them before we parse them, and turn them into types
// (delegation.SubagentID) before we use them.
package massgen
