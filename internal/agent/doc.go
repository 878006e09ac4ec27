// Package agent defines how the two sides of a sandbox's wall talk about an agent. An agent is a program that thinks:
// Claude Code, Codex.
//
//	in the sandbox                                           │ on the host
//	agent ──its own output──► adapter ──Lines, on stdout──►  │ watcher ──► events in the outbox
//	agent ◄──its own input─── adapter ◄──Inputs, on stdin──  │ watcher ◄── input files in the outbox
//
// The adapter reads the agent's own output. It is a program of ours that runs in the sandbox beside the child, with the
// child's rights. The host parses nothing that an agent prints except the lines of this package. These have one form,
// strict and bounded. A child can take its adapter's place and say whatever it likes in that form. This gains it
// nothing: it could have made its agent print the same. Decision 0018 gives the reasons.
//
// Package adapter is that program. This package has the form, and the table of the agents that a profile can name.
package agent
