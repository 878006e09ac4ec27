// Package profile reads MassGen's kinds of subagents: a directory for each, with a file SUBAGENT.md.
//
//	---
//	name: critic                       # the directory's name, unless it is given
//	description: Finds what is wrong.  # required; a profile without one is skipped with a warning
//	skills: [review]
//	expected_input: [the draft]
//	---
//	You are a critic. ...              # the system prompt
//
//	profiles, warnings, err := profile.Load(builtIn, project) // each an *os.Root of a directory of directories; nil is none
//
// # Promises
//
// The four keys above are all. Another key, a key that is there twice, and a value of another type are errors, with the file and
// the line. Of two profiles whose names differ in case alone the later directory's counts, so that a project replaces what is built
// in. The directory _template is an example and is skipped.
//
// A file is opened by handle, as a regular file with one name and without links, up to a bound; an alias of YAML is refused, so
// a short file cannot become a long one.
package profile
