// Package massgen knows what an agent of MassGen expects of its subagents' tools: which arguments they take, with which words
// they refuse, and what their results look like. It decides and phrases; it opens no file and starts no child.
//
//	spawn, failure := massgen.ParseSpawn(arguments, parent)  // spawn_subagents, in MassGen's order of checks
//	if failure != nil { ... }                                // failure is the tool's whole answer, as JSON
//	again, failure := massgen.ParseContinue(arguments)
//	failure = again.Check(child)                             // may this child be continued?
//
// # Promises
//
// Where MassGen has a text for a mistake, the text is MassGen's to the letter, and mistakes are looked for in the order in
// which MassGen looks for them, so that a model that knows the one system knows the other. What MassGen lets through and
// Torno does not (a name that no file can have, a field that is not read, a value of another type) is said afterwards, in
// words of ours that say what to do next.
//
// Arguments are a stranger's bytes: they are bounded before they are parsed, and become types (delegation.SubagentID) before
// anything is made of them.
package massgen
