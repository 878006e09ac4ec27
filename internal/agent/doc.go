// Package agent is what the two sides of a sandbox's wall agree on about a program that thinks: Claude Code, Codex.
//
//	in the sandbox                                           │ on the host
//	agent ──its own output──► adapter ──Lines, on stdout──►  │ watcher ──► events in the outbox
//	agent ◄──its own input─── adapter ◄──Inputs, on stdin──  │ watcher ◄── input files in the outbox
//
// An agent's own output is read by its adapter, a program of ours that runs in the sandbox, with the child's rights and beside the
// child: nothing on the host parses what an agent prints but the lines of this package. They have one form, strict and bounded. A
// child that takes its adapter's place can say whatever it likes in that form, which is no more than it could have had its agent
// print. Decision 0018 says why it is so.
//
// Package adapter is the program; this package is the form, and the table of the agents that a profile can name.
package agent
