// Package profile reads MassGen's kinds of subagents. Each kind has a directory with a file SUBAGENT.md.
//
//	---
//	name: critic                       # default: the name of the directory
//	description: Finds what is wrong.  # required; a profile without it is skipped with a warning
//	skills: [review]
//	expected_input: [the draft]
//	---
//	You are a critic. ...              # the system prompt
//
//	profiles, warnings, err := profile.Load(builtIn, project) // each an *os.Root of directories; nil is skipped
//
// # Promises
//
// Only the four keys above are allowed. An unknown key, a key that occurs twice and a value of a wrong type are errors
// that name the file and the line. If the names of two profiles differ only in case, the profile of the later directory
// counts, so a project can replace a built-in profile. The directory _template is an example and is skipped.
//
// The package opens a file by handle, up to a bound, and follows no link. The file must be regular and have a single
// name. The package refuses a YAML alias, so a short file cannot become a long one.
package profile
